#include "research/papers/one_gpu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "eval/comparison.h"
#include "eval/partition_search.h"
#include "eval/seeds.h"
#include "research/papers/one_gpu_layouts.h"
#include "research/papers/paper_marks.h"
#include "research/papers/paper_setting.h"

namespace smartmig {
namespace {

constexpr const char* kPlacers[] = {"cedf", "edf-slow", "edf-fast", "llf-slow", "llf-fast"};
constexpr std::size_t kLearned = 3;  // index of the learned repartitioner
constexpr double kHighA = 2.25e-5, kLowA = 2.25e-6;

struct Searched {
  LayoutFile layouts;
  std::string text() const {
    std::string out;
    for (const std::string& shape : layouts.day) out += shape;
    if (layouts.twice)
      out += fmt::format(" {}-{} h, {} else", layouts.day_begin, layouts.night_begin, fmt::join(layouts.night, ","));
    return out + " + " + layouts.placer;
  }
};

Result<Searched> search_best(const Setting& setting, bool twice, const OneGpuOptions& given) {
  Searched best;
  for (const char* placer : kPlacers) {
    SearchOptions options;
    options.placer = placer;
    options.twice = twice;
    options.seeds = seeds_from(kFirstTrainingSeed, std::size_t(given.training_days));
    options.threads = given.threads;
    SMARTMIG_TRY(SearchOutcome outcome, search_partition(setting, options));
    if (best.layouts.placer.empty() || outcome.layouts.et < best.layouts.et) best.layouts = outcome.layouts;
  }
  return best;
}

// A contender with a searched partition: static[shape]+placer, or twice with its own file.
Result<Contender> contender_for(const Searched& found, const std::string& label, const std::string& scratch) {
  Contender contender{label, "", {}};
  if (!found.layouts.twice) {
    contender.policy = "static+" + found.layouts.placer;
    contender.options.layouts = found.layouts.day[0];
    return contender;
  }
  SMARTMIG_TRY(const Ok written, write_file(scratch, to_json(found.layouts)));
  (void)written;
  contender.policy = "twice+" + found.layouts.placer;
  contender.options.layouts = scratch;
  return contender;
}

Result<PaperSection> load_section(const char* load, double a, const OneGpuOptions& options,
                                  const PaperProgress& progress) {
  SMARTMIG_TRY(Setting setting, paper_setting(fmt::format("paper:{}", load), "1xa100-40gb"));
  setting.a = a;
  const std::string part = fmt::format("{} a {:g}", load, a);
  progress(part, 0);
  SMARTMIG_TRY(const Searched fixed, search_best(setting, false, options));
  progress(part, 0.3);
  SMARTMIG_TRY(const Searched twice, search_best(setting, true, options));
  progress(part, 0.6);
  const std::string scratch =
      (std::filesystem::temp_directory_path() / fmt::format("smartmig-twice-{}.json", ::getpid())).string();
  std::vector<Contender> contenders = {contender_of("none+edf", {})};
  for (const auto& [found, label] : {std::pair(&fixed, "best static"), std::pair(&twice, "best twice-daily")}) {
    SMARTMIG_TRY(Contender contender, contender_for(*found, label, scratch));
    contenders.push_back(std::move(contender));
  }
  const auto add = [&](const std::string& policy, const char* label) {
    contenders.push_back(contender_of(policy, {}));
    contenders.back().label = label;
  };
  add("meanfield[single-value]+value", "RL: PPO after lessons, value placer");
  add(fmt::format("meanfield[single-dqn-{}]+value", a > 1e-5 ? "high" : "low"), "RL: DQN, value placer");
  add(fmt::format("meanfield[single-{}]+cedf", a > 1e-5 ? "high" : "low"), "RL: PPO alone, CEDF");
  add(fmt::format("static[{}]+value", fixed.layouts.day[0]), "best static, value placer");
  add("market", "market");
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.days));
  const auto runs = run_paired(setting, contenders, seeds, options.threads);
  std::error_code ignored;
  std::filesystem::remove(scratch, ignored);
  if (!runs) return runs.error();

  PaperSection section;
  section.name = fmt::format("{}-{:g}", load, a);
  section.title = fmt::format("{} load, a = {:g}", load, a);
  section.note = fmt::format("static: {}; twice-daily: {}", fixed.text(), twice.text());
  section.header = {"policy",          "energy kWh",     "tardiness min",      "ET",
                    "ET against none", "against static", "against twice-daily"};
  std::vector<Comparison> against;
  for (std::size_t base = 0; base < 3; ++base)
    against.push_back(make_comparison(setting, contenders, *runs, seeds, base));
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const ComparisonRow& row = against[0].rows[i];
    std::vector<std::string> cells = {row.label, fmt::format("{:.2f}", row.energy_kwh),
                                      fmt::format("{:.3f}", row.tardiness_min), fmt::format("{:.3f}", row.et)};
    nlohmann::ordered_json json = {{"policy", row.label},
                                   {"energy_kwh", row.energy_kwh},
                                   {"mean_tardiness_min", row.tardiness_min},
                                   {"et", row.et}};
    const char* names[] = {"none", "static", "twice"};
    for (std::size_t base = 0; base < 3; ++base) {
      const Difference& d = against[base].rows[i].et_difference;
      cells.push_back(i == base ? "-" : fmt::format("{:+.1f} ± {:.1f} %", d.percent, d.percent_half_width));
      json[fmt::format("et_percent_against_{}", names[base])] = d.percent;
    }
    section.rows.push_back(std::move(cells));
    section.json.push_back(std::move(json));
  }
  const double printed[] = {-68, -31, -26};
  const char* baselines[] = {"no partition", "static", "twice-daily"};
  for (std::size_t base = 0; base < 3; ++base)
    section.claims.push_back(change_claim(fmt::format("RL's ET against {}", baselines[base]), printed[base],
                                          against[base].rows[kLearned].et_difference.percent));
  section.why =
      "the paper's load, job mix, weight a and network are not known here; static and twice-daily layouts are "
      "searched here with the best of five placers, which leaves a controller less to win; RL here has a placer of its "
      "own, whose share the row of the best static layout with that placer shows";
  return section;
}

}  // namespace

std::vector<PaperPart> one_gpu_parts(const OneGpuOptions& options) {
  const nlohmann::ordered_json settings{{"days", options.days}, {"training_days", options.training_days}};
  std::vector<PaperPart> parts;
  for (const double a : {kHighA, kLowA})
    for (const char* load : {"1x", "1.5x", "2x"})
      parts.push_back({fmt::format("{}-{:g}", load, a), settings, [options, load, a](const PaperProgress& progress) {
                         return one_section(load_section(load, a, options, progress));
                       }});
  parts.push_back({"rules", settings, [options](const PaperProgress& progress) {
                     progress("rules by configuration", 0);
                     return one_section(rules_by_configuration("1x", kHighA, options));
                   }});
  parts.push_back({"layouts", settings, [options](const PaperProgress& progress) {
                     progress("layouts by hour and queue", 0);
                     return layouts_by_hour_and_queue("1x", kHighA, options);
                   }});
  return parts;
}

Result<PaperReport> one_gpu_report(const OneGpuOptions& options, const PaperProgress& progress) {
  PaperReport report;
  report.title = "Dynamic repartitioning of one MIG (arXiv 2606.25082), printed and measured";
  report.note = fmt::format(
      "1 A100-40GB, report seeds from {}, {} paired days; ET = (a e + t)/(a + 1); a and job mix are not "
      "public: two values of a; static and twice-daily layouts searched on {} training days with each of "
      "{} placers; printed for the paper's own setting: -68 % against none, -31 % against static, -26 % "
      "against twice-daily; PPO's network was trained at the smaller a and serves both, DQN has one for each",
      kFirstReportSeed, options.days, options.training_days, std::size(kPlacers));
  SMARTMIG_TRY(report.sections, run_parts(one_gpu_parts(options), progress));
  return report;
}

}  // namespace smartmig
