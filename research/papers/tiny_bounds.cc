#include "research/papers/tiny_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "eval/experiment.h"
#include "research/bounds/exact.h"
#include "research/bounds/paper_energy.h"
#include "research/bounds/tardiness_mip.h"

namespace smartmig {
namespace {

constexpr double kA = 1e-3;  // gives energy and tardiness of a few jobs about the same weight
constexpr double kSlotMin = 0.25;
constexpr int kNodes = 2000;  // a node limit gives the same answer on every machine

// Times on 1, 2, 3, 4 and 7 slices relative to one, of the curves of the paper's Fig. 3.
constexpr std::array<double, 5> kLinear = {1, 1. / 2, 1. / 3, 1. / 4, 1. / 7};
constexpr std::array<double, 5> kSublinear = {1, 150. / 295, 150. / 430, 150. / 550, 150. / 770};
constexpr std::array<double, 5> kCapped = {1, 1. / 2, 1. / 3, 1. / 3, 1. / 3};

struct TinyJob {
  double submit, deadline, minutes_1g;
  const std::array<double, 5>* curve;
};
struct TinyCase {
  const char* name;
  const char* gpus;
  std::vector<TinyJob> jobs;
};

const std::vector<TinyCase>& tiny_cases() {
  static const std::vector<TinyCase> cases = {
      {"one linear job", "1xa100-40gb", {{0, 2, 14, &kLinear}}},
      {"two linear jobs", "1xa100-40gb", {{0, 2, 14, &kLinear}, {0, 2, 14, &kLinear}}},
      {"two capped jobs", "1xa100-40gb", {{0, 3, 9, &kCapped}, {0, 3, 9, &kCapped}}},
      {"short after long", "1xa100-40gb", {{0, 3, 21, &kLinear}, {1, 2, 7, &kSublinear}}},
      {"one of each", "1xa100-40gb", {{0, 1, 7, &kLinear}, {0, 1.5, 6, &kSublinear}, {0.5, 2.5, 6, &kCapped}}},
      {"one of each on two", "2xa100-40gb", {{0, 2, 14, &kLinear}, {0, 2, 9, &kSublinear}, {0.5, 2.5, 6, &kCapped}}},
      {"three linear on two", "2xa100-40gb", {{0, 1, 7, &kLinear}, {0, 1, 7, &kLinear}, {0.5, 1.5, 7, &kLinear}}},
  };
  return cases;
}

Result<Day> make_tiny(const TinyCase& tiny, const Platform& platform) {
  auto workload = std::make_shared<Workload>();
  workload->source = tiny.name;
  for (const TinyJob& t : tiny.jobs) {
    Job job;
    job.submit = from_minutes(t.submit);
    job.deadline = from_minutes(t.deadline);
    const int sizes[] = {1, 2, 3, 4, 7};
    for (std::size_t k = 0; k < 5; ++k)
      job.work[std::size_t(sizes[k] - 1)] = from_minutes(t.minutes_1g * (*t.curve)[k]);
    workload->jobs.push_back(job);
  }
  SMARTMIG_TRY(JobTable table, JobTable::bind(workload, platform));
  return Day{0, std::make_shared<JobTable>(std::move(table))};
}

struct Goal {
  const char* name;
  const char* unit;
  double energy, tardiness;
  double value(const Summary& s) const { return energy * s.energy_wmin + tardiness * s.mean_tardiness_min; }
};
constexpr Goal kGoals[] = {{"energy", "Wmin", 1, 0}, {"tardiness", "min", 0, 1}, {"a e + t", "min", kA, 1}};

struct Enclosed {
  ExactOptimum optimum;
  double bound = 0;  // the paper's; for a e + t the weighted sum of both
  double policy = 0;
  std::string policy_name;
};

Result<Enclosed> run_case(const TinyCase& tiny, const Goal& goal) {
  Setting setting;
  SMARTMIG_TRY(Platform platform, Platform::parse(tiny.gpus));
  setting.platform = std::make_shared<Platform>(std::move(platform));
  setting.a = kA;
  SMARTMIG_TRY(const Day day, make_tiny(tiny, *setting.platform));
  Enclosed enclosed;
  const MipLimits limits{600, kNodes};
  SMARTMIG_TRY(enclosed.optimum,
               exact_optimum(*setting.platform, *day.jobs, {goal.energy, goal.tardiness, kSlotMin, limits}));
  if (goal.energy > 0) {
    SMARTMIG_TRY(const double joules, paper_energy_bound_joules(*setting.platform, *day.jobs));
    enclosed.bound += goal.energy * watt_minutes(joules);
  }
  if (goal.tardiness > 0) {
    TardinessOptions options;
    options.slot_min = kSlotMin / 4;
    options.limits = limits;
    SMARTMIG_TRY(const TardinessBound tardiness, tardiness_bound(*setting.platform, *day.jobs, options));
    enclosed.bound += goal.tardiness * tardiness.mean_min;
  }
  for (const char* rule : {"edf", "cedf", "met-w"})
    for (int layout = 1; layout <= 12; ++layout) {
      const std::string name = fmt::format("static[{}]+{}", layout, rule);
      SMARTMIG_TRY(const Summary summary, run_day(setting, contender_of(name, {}), day));
      const double value = goal.value(summary);
      if (enclosed.policy_name.empty() || value < enclosed.policy) enclosed.policy = value, enclosed.policy_name = name;
    }
  enclosed.optimum.upper = std::min(enclosed.optimum.upper, enclosed.policy);  // a policy's run is a schedule, too
  return enclosed;
}

}  // namespace

Result<PaperReport> tiny_bounds_report(int threads, const PaperProgress& progress) {
  const auto& cases = tiny_cases();
  constexpr std::size_t goals = std::size(kGoals);
  std::vector<Result<Enclosed>> results(cases.size() * goals, Result<Enclosed>(Enclosed{}));
  std::atomic<std::size_t> done{0};
  run_parallel(results.size(), threads, [&](std::size_t i) {
    results[i] = run_case(cases[i / goals], kGoals[i % goals]);
    progress("optima of tiny cases", double(done.fetch_add(1) + 1) / double(results.size()));
  });
  PaperSection section;
  section.name = "bounds-tiny";
  section.title =
      fmt::format("Bounds where the optimum is known, paper costs; energy in Wmin, tardiness in min, a = {:g}", kA);
  section.header = {"case",
                    "goal",
                    "optimum from",
                    "to",
                    "paper's bound",
                    "of optimum at least",
                    "best static policy",
                    "value",
                    "above optimum at most"};
  section.apart = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return results[i].error();
    const Enclosed& e = *results[i];
    const Goal& goal = kGoals[i % goals];
    const auto number = [&](double x) { return fmt::format("{:.{}f}", x, goal.tardiness > 0 ? 3 : 1); };
    const bool zero = e.optimum.upper < 1e-4;  // too small for per cents
    section.rows.push_back({cases[i / goals].name, goal.name, number(e.optimum.lower), number(e.optimum.upper),
                            number(e.bound), zero ? "-" : fmt::format("{:.1f} %", 100 * e.bound / e.optimum.upper),
                            e.policy_name, number(e.policy),
                            zero ? "-" : fmt::format("{:.1f} %", 100 * std::max(0.0, e.policy / e.optimum.lower - 1))});
    section.json.push_back({{"case", cases[i / goals].name},
                            {"gpus", cases[i / goals].gpus},
                            {"goal", goal.name},
                            {"unit", goal.unit},
                            {"optimum_lower", e.optimum.lower},
                            {"optimum_upper", e.optimum.upper},
                            {"paper_bound", e.bound},
                            {"policy", e.policy_name},
                            {"policy_value", e.policy}});
  }
  section.below = fmt::format(
      "The optimum over all partitions, placements and preemptions lies in the interval given (slots of {:g} min). "
      "Policies: the best of 12 layouts\n"
      "with edf, cedf and met-w. The paper's bound on a e + t is the sum of its two.\n",
      kSlotMin);
  PaperReport report;
  report.json = {{"a", kA}, {"slot_min", kSlotMin}, {"rows", section.json}};
  report.sections.push_back(std::move(section));
  return report;
}

}  // namespace smartmig
