#include "research/papers/one_gpu_layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/comparison.h"
#include "eval/seeds.h"
#include "research/explain/explain.h"
#include "research/papers/paper_setting.h"

namespace smartmig {
namespace {

constexpr const char* kRules[] = {"edf-fast", "edf-slow", "llf-fast", "llf-slow"};
constexpr const char* kNoNumbers = "the paper shows this, but its numbers are not known here";
constexpr double kShown = 0.02;  // share of time: layouts held less are summed

Result<Setting> one_gpu_setting(const char* load, double a) {
  SMARTMIG_TRY(Setting setting, paper_setting(fmt::format("paper:{}", load), "1xa100-40gb"));
  setting.a = a;
  return setting;
}

PaperSection held_by(const ShareTable& table, const Explanation& found, const std::string& policy, const char* load) {
  PaperSection section;
  section.name = fmt::format("{}-{}", table.key, found.joint ? "market" : "rl");
  section.title = fmt::format("{} by {}: % of the time in each configuration, {} load", policy, table.title, load);
  section.ours = found.joint;
  section.why = found.joint ? "our policy market, with the learned controller" : kNoNumbers;
  std::vector<std::size_t> shown;
  for (std::size_t l = 0; l < found.time_share.size(); ++l)
    if (found.time_share[l] >= kShown) shown.push_back(l);
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t x, std::size_t y) { return found.time_share[x] > found.time_share[y]; });
  section.header = {table.title, "GPU h a day"};
  for (const std::size_t l : shown) section.header.push_back(found.names[l]);
  section.header.push_back("others");
  for (const ShareBin& bin : table.bins) {
    std::vector<std::string> cells{bin.label, fmt::format("{:.1f}", bin.gpu_hours)};
    nlohmann::ordered_json json{{table.key, bin.label}, {"gpu_hours_per_day", bin.gpu_hours}};
    double others = 100;
    for (const std::size_t l : shown) {
      cells.push_back(fmt::format("{:.0f}", 100 * bin.share[l]));
      json["percent"][found.names[l]] = 100 * bin.share[l];
      others -= 100 * bin.share[l];
    }
    cells.push_back(fmt::format("{:.0f}", std::max(0.0, others)));
    section.rows.push_back(std::move(cells));
    section.json.push_back(std::move(json));
  }
  return section;
}

}  // namespace

Result<PaperSection> rules_by_configuration(const char* load, double a, const OneGpuOptions& options) {
  SMARTMIG_TRY(const Setting setting, one_gpu_setting(load, a));
  const GpuModel& gpu = *setting.platform->models()[0].gpu;
  const auto shapes = paper_shapes(gpu);
  std::vector<Contender> contenders;
  for (std::size_t s = 0; s < shapes.size(); ++s)
    for (const char* rule : kRules) contenders.push_back(contender_of(fmt::format("static[{}]+{}", s + 1, rule), {}));
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.days));
  SMARTMIG_TRY(const auto runs, run_paired(setting, contenders, seeds, options.threads));
  const Comparison all = make_comparison(setting, contenders, runs, seeds, 0);
  PaperSection section;
  section.name = fmt::format("rules-{}-{:g}", load, a);
  section.title = fmt::format("ET of four rules on each configuration that stays, {} load, a = {:g}", load, a);
  section.note =
      "earliest deadline or least laxity first, each to the fastest free slice or to the slowest that is in time";
  section.why = kNoNumbers;
  section.header = {"configuration"};
  section.header.insert(section.header.end(), std::begin(kRules), std::end(kRules));
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    std::vector<std::string> cells{fmt::format("{}: {}", s + 1, to_string(gpu, shapes[s]))};
    nlohmann::ordered_json json{{"configuration", s + 1}};
    for (std::size_t r = 0; r < std::size(kRules); ++r) {
      const double et = all.rows[s * std::size(kRules) + r].et;
      cells.push_back(fmt::format("{:.3f}", et));
      json["et"][kRules[r]] = et;
    }
    section.rows.push_back(std::move(cells));
    section.json.push_back(std::move(json));
  }
  return section;
}

Result<std::vector<PaperSection>> layouts_by_hour_and_queue(const char* load, double a, const OneGpuOptions& options) {
  SMARTMIG_TRY(const Setting setting, one_gpu_setting(load, a));
  std::vector<PaperSection> out;
  for (const std::string policy : {"meanfield[single-value]+value", "market"}) {
    ExplainOptions explain{seeds_from(kFirstReportSeed, std::size_t(options.days)),
                           seeds_from(kFirstValidationSeed, 2),
                           {},
                           "cedf",
                           options.threads};
    SMARTMIG_TRY(const Explanation found, explain_policy(setting, contender_of(policy, {}), explain));
    for (const ShareTable& table : found.tables)
      if (table.key == "hour" || table.key == "unfinished_per_gpu") out.push_back(held_by(table, found, policy, load));
  }
  return out;
}

}  // namespace smartmig
