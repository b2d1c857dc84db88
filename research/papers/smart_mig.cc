#include "research/papers/smart_mig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "eval/comparison.h"
#include "eval/seeds.h"
#include "research/explain/explain.h"
#include "research/papers/paper_marks.h"
#include "research/papers/paper_setting.h"
#include "research/papers/smart_mig_dynamic.h"
#include "research/papers/smart_mig_placers.h"

namespace smartmig {
namespace {

// Instances by compute slices; a 1g with double memory counts as 1g.
std::array<int, 16> sizes_of(const GpuModel& gpu, Shape shape) {
  std::array<int, 16> out{};
  for (int p = 0; p < int(gpu.profiles().size()); ++p)
    out[std::size_t(gpu.profiles()[std::size_t(p)].compute_slices)] += shape.count(p);
  return out;
}

// Per cent of GPU time by the papers' layouts, then everything else.
std::vector<double> percent_by_layout(const GpuModel& gpu, const std::vector<Shape>& shapes, const Explanation& found,
                                      const std::vector<double>& share) {
  std::vector<double> out(shapes.size() + 1, 0);
  for (std::size_t l = 0; l < found.layouts.size() && l < share.size(); ++l) {
    const auto same = [&](const Shape& s) { return sizes_of(gpu, s) == sizes_of(gpu, found.layouts[l].shape); };
    out[std::size_t(std::find_if(shapes.begin(), shapes.end(), same) - shapes.begin())] += 100 * share[l];
  }
  return out;
}

// Fig. 13: the layouts that the controllers chose, as shares of GPU time; for the paper's controller also by the
// sublinearity of the queue.
Result<PaperSection> shares_section(const SmartMigOptions& options, const PaperProgress& progress) {
  PaperSection section{"fig13",
                       "Fig. 13: layouts chosen, % of GPU time at 20x",
                       "paper: 1-7 as printed, 8-12 together 5.0 %; \"other\": partial layouts; while sublinearity is "
                       "severe, moderate or mild (docs/explain.md): the paper's controller",
                       {"layout", "paper", "paper's controller*"},
                       {}};
  SMARTMIG_TRY(const Setting setting, paper_setting("paper:20x"));
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(std::min<std::int64_t>(options.days, 10)));
  const GpuModel& gpu = *setting.platform->models()[0].gpu;
  const auto shapes = paper_shapes(gpu);
  std::vector<std::vector<double>> columns;
  std::vector<std::string> keys{"paper_controller_percent"}, scores{"sublinearity score of the queue", "0.67-0.84"};
  for (const char* policy : {"meanfield[meanfield-paper]+cedf", "meanfield+cedf", "market"}) {
    progress("Fig. 13", double(columns.size() > 0) * 0.5);
    ExplainOptions explain{seeds, seeds_from(kFirstValidationSeed, 2), {}, "cedf", options.threads};
    SMARTMIG_TRY(const Explanation found, explain_policy(setting, contender_of(policy, {}), explain));
    const bool papers = columns.empty();
    if (!papers) {
      section.header.push_back(std::string(policy) + (found.joint ? "" : "*"));
      keys.push_back(found.joint ? "planner_percent" : "meanfield_percent");
    }
    columns.push_back(percent_by_layout(gpu, shapes, found, found.time_share));
    scores.push_back(fmt::format("{:.2f}-{:.2f}", found.sublinearity_low, found.sublinearity_high));
    for (const ShareTable& table : found.tables)
      for (const ShareBin& bin : table.bins) {
        if (!papers || table.key != "sublinearity") continue;
        columns.push_back(percent_by_layout(gpu, shapes, found, bin.share));
        section.header.push_back(bin.label);
        keys.push_back("paper_controller_percent_" + bin.label);
        scores.push_back("-");
      }
  }
  for (std::size_t s = 0; s <= shapes.size(); ++s) {
    const bool other = s == shapes.size();
    section.rows.push_back({other ? "other" : fmt::format("{}: {}", s + 1, to_string(gpu, shapes[s])),
                            s < 7 ? fmt::format("{:.1f}", kPaperShares[s]) : "-"});
    section.json.push_back({{"layout", other ? 0 : int(s) + 1},
                            {"printed_percent", s < 7 ? nlohmann::ordered_json(kPaperShares[s]) : nullptr}});
    for (std::size_t c = 0; c < columns.size(); ++c) {
      section.rows.back().push_back(fmt::format("{:.1f}", columns[c][s]));
      section.json.back()[keys[c]] = columns[c][s];
    }
  }
  for (std::size_t s = 0; s < 7; ++s)
    section.claims.push_back(share_claim(fmt::format("time in layout {}", s + 1), kPaperShares[s], columns[0][s]));
  section.claims.push_back(share_claim("time in layouts 8 to 12", kPaperShares[7],
                                       std::accumulate(columns[0].begin() + 7, columns[0].begin() + 12, 0.0)));
  section.why =
      "the paper's network is not at hand: this is one trained here by its description, which prefers other layouts";
  section.json.push_back({{"sublinearity_printed", "0.67-0.84"}, {"sublinearity_paper_controller", scores[2]}});
  section.rows.push_back(std::move(scores));
  return section;
}

}  // namespace

nlohmann::ordered_json settings_of(const SmartMigOptions& options) {
  return {{"days", options.days}, {"bound_days", options.bound_days}};
}

std::vector<PaperPart> smart_mig_parts(const SmartMigOptions& options) {
  std::vector<PaperPart> parts = smart_mig_dynamic_parts(options);
  const auto add = [&](const std::string& name, auto section) {
    parts.push_back({name, settings_of(options), [options, section](const PaperProgress& progress) {
                       return one_section(section(options, progress));
                     }});
  };
  for (const std::string& figure : placer_figures())
    add(figure, [figure](const SmartMigOptions& o, const PaperProgress& p) { return placer_section(figure, o, p); });
  add("fig4", gpus_section);
  add("fig13", shares_section);
  return parts;
}

Result<PaperReport> smart_mig_report(const SmartMigOptions& options, const PaperProgress& progress) {
  PaperReport report;
  report.title = "SMART-MIG (arXiv 2606.29775), printed and measured";
  report.note = fmt::format(
      "report seeds from {}, paired days; ET = (a e + t)/(a + 1), a = 2e-07 per watt-minute; "
      "intervals are 95 %; Fig. 11 is smartmig reproduce a-fig11\n* a network whose critic knew the arrivals to come while "
      "it was trained; the controller itself does not",
      kFirstReportSeed);
  SMARTMIG_TRY(report.sections, run_parts(smart_mig_parts(options), progress));
  return report;
}

}  // namespace smartmig
