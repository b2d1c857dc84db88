#include "papers/smart_mig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bound/paper_energy.h"
#include "eval/comparison.h"
#include "eval/explain.h"
#include "eval/seeds.h"
#include "papers/paper_setting.h"
#include "papers/smart_mig_dynamic.h"
#include "papers/smart_mig_printed.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

std::string printed(double value) { return value < 0 ? "-" : fmt::format("{:g}", value); }

Result<PaperSection> placer_section(const PaperTable& table, const SmartMigOptions& options,
                                    const PaperProgress& progress) {
  SMARTMIG_TRY(const Setting setting, paper_setting(table.workload));
  std::vector<Contender> contenders;
  for (const PaperRow& row : table.rows) contenders.push_back(contender_of(row.policy, {}));
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.days));
  SMARTMIG_TRY(const auto runs, run_paired(setting, contenders, seeds, options.threads,
                                           [&](double share) { progress(table.title, share); }));
  double bound = 0;
  for (const std::uint64_t seed : seeds) {
    SMARTMIG_TRY(const Day day, make_day(setting, seed));
    SMARTMIG_TRY(const double joules, paper_energy_bound_joules(*setting.platform, *day.jobs));
    bound += watt_minutes(joules) / double(seeds.size());
  }
  const Comparison ours = make_comparison(setting, contenders, runs, seeds, 0);
  PaperSection section{table.name,
                       table.title,
                       table.note,
                       {"policy", "energy % above bound: paper", "ours", "tardiness min: paper", "ours"},
                       {}};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const double above = 100 * (ours.rows[i].energy_wmin / bound - 1);
    section.rows.push_back({ours.rows[i].label, printed(table.rows[i].energy.value_or(-1)),
                            fmt::format("{:.1f}", above), printed(table.rows[i].tardiness.value_or(-1)),
                            fmt::format("{:.3f}", ours.rows[i].tardiness_min)});
    section.json.push_back({{"policy", ours.rows[i].label},
                            {"energy_percent_above_bound", above},
                            {"mean_tardiness_min", ours.rows[i].tardiness_min}});
  }
  return section;
}

// Fig. 4: what one more GPU buys. The paper shows curves without numbers.
Result<PaperSection> gpus_section(const SmartMigOptions& options) {
  PaperSection section{
      "fig4",
      "Fig. 4: energy against tardiness for 1 to 4 GPUs in layout 3, EDF",
      "queues of 1,000 jobs at a fixed rate per minute, slack 2 to 4; the paper's curves carry no numbers",
      {"rate per min", "GPUs", "energy kWh", "mean tardiness min"},
      {}};
  std::vector<ScatterPoint> points;
  const int rates[] = {1, 3, 6, 10};
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(std::min<std::int64_t>(options.days, 10)));
  for (std::size_t r = 0; r < std::size(rates); ++r)
    for (int gpus = 1; gpus <= 4; ++gpus) {
      SMARTMIG_TRY(const Setting setting,
                   paper_setting(fmt::format("fixed:rate={},jobs=1000,mix=mixed,slack=2-4", rates[r]),
                                 fmt::format("{}xa100-40gb", gpus)));
      SMARTMIG_TRY(const auto runs, run_paired(setting, {contender_of("static[3]+edf", {})}, seeds, options.threads));
      double energy = 0, tardiness = 0;
      for (const Summary& day : runs[0]) {
        energy += day.energy_kwh / double(seeds.size());
        tardiness += day.mean_tardiness_min / double(seeds.size());
      }
      section.rows.push_back({fmt::format("{}", rates[r]), fmt::format("{}", gpus), fmt::format("{:.2f}", energy),
                              fmt::format("{:.2f}", tardiness)});
      section.json.push_back(
          {{"rate_per_min", rates[r]}, {"gpus", gpus}, {"energy_kwh", energy}, {"mean_tardiness_min", tardiness}});
      points.push_back(
          {energy, std::max(tardiness, 0.001), fmt::format("{}/min, {} GPU", rates[r], gpus), fmt::format("k{}", r)});
    }
  section.svg = scatter_svg(points, "energy, kWh", "mean tardiness, minutes", {});
  return section;
}

// Instances by compute slices: a 1g with double memory counts as 1g.
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

// Fig. 13: which layouts the controllers chose, as shares of GPU time; the paper's controller also by the sublinearity of
// what was queued.
Result<PaperSection> shares_section(const SmartMigOptions& options) {
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
  for (const char* policy : {"meanfield[meanfield-paper]+cedf", "meanfield+cedf", "planner"}) {
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
  section.json.push_back({{"sublinearity_printed", "0.67-0.84"}, {"sublinearity_paper_controller", scores[2]}});
  section.rows.push_back(std::move(scores));
  return section;
}

}  // namespace

Result<PaperReport> smart_mig_report(const SmartMigOptions& options, const PaperProgress& progress) {
  PaperReport report;
  report.title = "SMART-MIG (arXiv 2606.29775), printed beside measured";
  report.note = fmt::format(
      "report seeds from {}, paired days; ET = (a e + t)/(a + 1), a = 2e-07 per watt-minute; "
      "intervals are 95 %; Fig. 11 is smartmig reproduce a-fig11\n* a network whose critic knew the arrivals to come while "
      "it was trained; the controller itself does not",
      kFirstReportSeed);
  SMARTMIG_TRY(report.sections, smart_mig_dynamic_sections(options, progress));
  for (const PaperTable& table : paper_static_tables()) {
    if (!table.energy_above_bound) continue;
    SMARTMIG_TRY(PaperSection section, placer_section(table, options, progress));
    report.sections.push_back(std::move(section));
  }
  for (auto part : {gpus_section, shares_section}) {
    SMARTMIG_TRY(PaperSection section, part(options));
    report.sections.push_back(std::move(section));
  }
  return report;
}

}  // namespace smartmig
