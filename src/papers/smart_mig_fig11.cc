#include "papers/smart_mig_fig11.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bound/tardiness_mip.h"
#include "eval/seeds.h"
#include "papers/paper_setting.h"

namespace smartmig {
namespace {

constexpr const char* kPolicy = "static[8]+edf";
constexpr const char* kGpus = "4xa100-40gb";

struct Mix {
  const char* name;
  double printed;  // per cent above the paper's bound
};
constexpr Mix kMixes[] = {{"mixed", 34}, {"linear", 17}};

enum Kind { kAnyLayout, kLayout, kOwnSpeeds, kKinds };
constexpr const char* kNames[] = {"linearised, any layouts", "linearised, layout 8", "own speeds, layout 8"};
constexpr const char* kKeys[] = {"linearised_any_layouts", "linearised_layout_8", "own_speeds_layout_8"};

struct MixInstance {
  double tardiness = 0;
  TardinessBound bounds[kKinds];
};

Result<MixInstance> run_instance(const Setting& setting, std::uint64_t seed, const Fig11Options& options) {
  SMARTMIG_TRY(const Day day, make_day(setting, seed));
  SMARTMIG_TRY(const Summary summary, run_day(setting, contender_of(kPolicy, {}), day));
  SMARTMIG_TRY(const Shape shape, parse_shape(*setting.platform->models()[0].gpu, "8"));
  MixInstance instance;
  instance.tardiness = summary.mean_tardiness_min;
  for (int kind = 0; kind < kKinds; ++kind) {
    TardinessOptions bound;
    bound.slot_min = options.slot_min;
    bound.limits.seconds = options.time_limit_s;
    if (kind != kAnyLayout) bound.layouts.assign(setting.platform->gpus(), shape);
    bound.own_speeds = kind == kOwnSpeeds;
    bound.search_steps = options.search_steps;
    SMARTMIG_TRY(instance.bounds[kind], tardiness_bound(*setting.platform, *day.jobs, bound));
  }
  return instance;
}

Result<std::vector<MixInstance>> run_mix(const Mix& mix, const Fig11Options& options, const PaperProgress& progress) {
  SMARTMIG_TRY(const Setting setting, paper_setting(fmt::format("fixed:rate=8,jobs=50,mix={}", mix.name), kGpus));
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.repetitions));
  std::vector<Result<MixInstance>> results(seeds.size(), Result<MixInstance>(MixInstance{}));
  const std::string part = fmt::format("Fig. 11, {}", mix.name);
  std::atomic<std::size_t> done{0};
  run_parallel(seeds.size(), options.threads, [&](std::size_t i) {
    results[i] = run_instance(setting, seeds[i], options);
    progress(part, double(done.fetch_add(1) + 1) / double(seeds.size()));
  });
  std::vector<MixInstance> instances;
  for (auto& result : results) {
    if (!result) return result.error();
    instances.push_back(std::move(*result));
  }
  return instances;
}

// Over the repetitions. Ratios of single instances explode where a bound is near 0, so per cents are of means.
struct MixRow {
  double edf = 0, bound = 0, above = 0, median_above = 0, error = 0, seconds = 0, longest_seconds = 0, binaries = 0;
  double found = 0, open = 0,
         edf_above_found = 0;  // best schedules; what lies between bound and them, and EDF over them, %
  std::size_t solved = 0, within_1 = 0, within_5 = 0;
};
MixRow row_of(const std::vector<MixInstance>& instances, int kind) {
  MixRow row;
  std::vector<double> ratios;
  const double n = double(instances.size());
  for (const MixInstance& instance : instances) {
    const TardinessBound& b = instance.bounds[kind];
    row.edf += instance.tardiness / n;
    row.bound += b.mean_min / n;
    row.error = std::max(row.error, b.slot_min);
    row.seconds += b.seconds / n;
    row.longest_seconds = std::max(row.longest_seconds, b.seconds);
    row.binaries += double(b.binaries) / n;
    row.solved += b.proven_optimal;
    row.found += b.schedule_min / n;
    row.within_1 += b.schedule_min <= 1.01 * b.mean_min;
    row.within_5 += b.schedule_min <= 1.05 * b.mean_min;
    if (b.mean_min > 0) ratios.push_back(100 * (instance.tardiness / b.mean_min - 1));
  }
  row.above = 100 * (row.edf / row.bound - 1);
  row.open = 100 * (row.found / row.bound - 1);
  row.edf_above_found = 100 * (row.edf / row.found - 1);
  std::sort(ratios.begin(), ratios.end());
  if (!ratios.empty()) row.median_above = (ratios[(ratios.size() - 1) / 2] + ratios[ratios.size() / 2]) / 2;
  return row;
}

}  // namespace

Result<PaperReport> fig11_report(const Fig11Options& options, const PaperProgress& progress) {
  using Json = nlohmann::ordered_json;
  const std::uint64_t last = kFirstReportSeed + std::uint64_t(options.repetitions) - 1;
  PaperSection section;
  section.name = "fig11";
  section.title = fmt::format(
      "Fig. 11: EDF most packed ({}), 50 jobs at 8 a minute, {}, {} repetitions (seeds {}-{}), mean tardiness", kPolicy,
      kGpus, options.repetitions, kFirstReportSeed, last);
  section.header = {"jobs",        "bound",  "bound min", "best found min", "open",    "EDF min",    "EDF above bound",
                    "above found", "median", "paper",     "solver s",       "longest", "within 1 %", "5 %",
                    "solved"};
  section.apart = false;
  double error = 0;
  std::string against_found;
  for (const Mix& mix : kMixes) {
    SMARTMIG_TRY(const auto instances, run_mix(mix, options, progress));
    for (int kind = 0; kind < kKinds; ++kind) {
      const MixRow row = row_of(instances, kind);
      error = std::max(error, row.error);
      if (kind == kLayout)
        against_found +=
            fmt::format("{}{:.1f} % ({})", against_found.empty() ? "" : " and ", row.edf_above_found, mix.name);
      const bool searched = std::isfinite(row.found);
      const auto if_searched = [searched](std::string text) { return searched ? text : "-"; };
      const auto of_all = [&](std::size_t some) { return fmt::format("{}/{}", some, instances.size()); };
      section.rows.push_back(
          {mix.name, kNames[kind], fmt::format("{:.3f}", row.bound), if_searched(fmt::format("{:.3f}", row.found)),
           if_searched(fmt::format("{:.1f} %", row.open)), fmt::format("{:.3f}", row.edf),
           fmt::format("{:.1f} %", row.above), if_searched(fmt::format("{:.1f} %", row.edf_above_found)),
           fmt::format("{:.1f} %", row.median_above), kind == kLayout ? fmt::format("{:g} %", mix.printed) : "-",
           fmt::format("{:.1f}", row.seconds), fmt::format("{:.1f}", row.longest_seconds),
           if_searched(of_all(row.within_1)), if_searched(of_all(row.within_5)), of_all(row.solved)});
      if (kind != kAnyLayout)
        section.claims.push_back({fmt::format("EDF above the bound, {} jobs, %", mix.name), mix.printed, row.above, 5,
                                  PaperClaim::Sense::kNear, kNames[kind]});
      section.json.push_back({{"mix", mix.name},
                              {"bound", kKeys[kind]},
                              {"mean_bound_min", row.bound},
                              {"mean_edf_min", row.edf},
                              {"edf_above_bound_percent", row.above},
                              {"median_above_bound_percent", row.median_above},
                              {"printed_percent", kind == kLayout ? Json(mix.printed) : Json(nullptr)},
                              {"mean_solver_s", row.seconds},
                              {"longest_solver_s", row.longest_seconds},
                              {"solved", row.solved},
                              {"best_found_min", searched ? Json(row.found) : Json(nullptr)},
                              {"within_1_percent", row.within_1},
                              {"within_5_percent", row.within_5},
                              {"mean_binaries", row.binaries},
                              {"slot_error_min", row.error}});
    }
  }
  section.below = fmt::format(
      "Bounds are what the solver proved by the linear relaxation and {:g} s of cuts and branching for each instance "
      "(--time-limit), never a\n"
      "schedule it found; \"solved\": it proved the optimum of the program. \"best found\": the least of {} preemptive "
      "schedules by priority; the optimum\n"
      "lies between it and the bound, which are \"open\" apart; \"within\": cases where they are at most so far apart.\n"
      "Slots of {:g} min lose at most {:.3g} min against exact times, beside what the solver left open. \"any "
      "layouts\" holds for every policy, \"layout 8\"\n"
      "for every policy that keeps it, which is what the printed per cents can mean. \"own speeds\" does not "
      "linearise.\n",
      options.time_limit_s, options.search_steps, options.slot_min, error);
  section.why = fmt::format(
      "the per cents measure the bound more than EDF: against the best schedules found EDF is {} above, the rest is what a bound "
      "leaves open; the paper's slots and time limit are not said (here {:g} min and {:g} s)",
      against_found, options.slot_min, options.time_limit_s);
  PaperReport report;
  report.json = {{"figure", "11"},
                 {"policy", kPolicy},
                 {"gpus", kGpus},
                 {"jobs", 50},
                 {"rate_per_min", 8},
                 {"repetitions", options.repetitions},
                 {"seeds", {kFirstReportSeed, last}},
                 {"slot_min", options.slot_min},
                 {"slot_error_min", error},
                 {"search_steps", options.search_steps},
                 {"time_limit_s", options.time_limit_s},
                 {"rows", section.json}};
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace smartmig
