#include "research/papers/migbench_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "eval/experiment.h"
#include "research/papers/migbench_trace.h"

namespace smartmig {
namespace {

// From outputs/real-offered-20260916/summary.csv of MIGBench's repository.
struct PrintedScheduler {
  const char* name;
  double makespan_s, mean_wait_s, p95_wait_s;
};
constexpr PrintedScheduler kPrinted[] = {{"NVIDIA DRA driver v0.5.0", 29195.586, 2119.875, 12714.828},
                                         {"HAMi v2.10.0", 29199.026, 1996.134, 10601.688},
                                         {"HAMi master 684c5f7", 29282.173, 1910.064, 10337.852}};
constexpr const char* kMigbenchPolicies[] = {"none+edf", "planner", "batch", "best"};

struct MigbenchFigures {
  double makespan_s = 0, mean_wait_s = 0, p95_wait_s = 0;
  std::optional<double> mean_turnaround_s;  // from submit to end; MIGBench does not print it
};

double interpolated(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * double(values.size() - 1);
  const std::size_t low = std::size_t(at);
  return low + 1 >= values.size() ? values[low] : values[low] + (at - double(low)) * (values[low + 1] - values[low]);
}

Result<MigbenchFigures> run_migbench(const Setting& setting, const char* policy, std::shared_ptr<const JobTable> jobs) {
  SMARTMIG_TRY(const DayRun run, simulate_day(setting, contender_of(policy, {}), jobs));
  if (run.result.refused > 0) return invalid("{}: {}", policy, run.result.last_refusal);
  std::vector<double> waits;
  MigbenchFigures out;
  double turnaround_s = 0;
  for (std::size_t j = 0; j < jobs->size(); ++j) {
    const JobState& state = run.result.final.state(JobId(j));
    waits.push_back(seconds(state.first_start - jobs->job(JobId(j)).submit));
    turnaround_s += seconds(state.finish - jobs->job(JobId(j)).submit);
    out.makespan_s = std::max(out.makespan_s, seconds(state.finish));  // from time 0, as in MIGBench
  }
  out.mean_turnaround_s = turnaround_s / double(jobs->size());
  for (const double wait : waits) out.mean_wait_s += wait / double(waits.size());
  out.p95_wait_s = interpolated(std::move(waits), 0.95);
  return out;
}

}  // namespace

Result<PaperReport> migbench_report(const MigbenchOptions& options, const PaperProgress& progress) {
  if (options.seeds < 1 || options.seeds > 100) return invalid("--batches (number of seeds) must be 1 to 100");
  Setting setting;
  SMARTMIG_TRY(Platform platform, Platform::parse("8xh100-80gb-sxm", "h100-nvl"));
  setting.platform = std::make_shared<Platform>(std::move(platform));
  setting.cost = CostModel{CostModel::kHardware, std::chrono::milliseconds(350)};
  const std::size_t seeds = std::size_t(options.seeds), policies = std::size(kMigbenchPolicies);
  std::vector<Result<MigbenchFigures>> results(seeds * policies, Result<MigbenchFigures>(MigbenchFigures{}));
  std::atomic<std::size_t> done{0};
  run_parallel(results.size(), options.threads, [&](std::size_t i) {
    results[i] = [&]() -> Result<MigbenchFigures> {
      MigbenchSetting world;
      world.seed += i / policies;
      SMARTMIG_TRY(Workload workload, migbench_workload(world));
      SMARTMIG_TRY(JobTable table, JobTable::bind(std::make_shared<Workload>(std::move(workload)), *setting.platform));
      return run_migbench(setting, kMigbenchPolicies[i % policies], std::make_shared<JobTable>(std::move(table)));
    }();
    progress("migbench", double(done.fetch_add(1) + 1) / double(results.size()));
  });
  PaperReport report;
  report.title = fmt::format("MIGBench: 2 nodes x 4 H100-80GB, 500 jobs, offered load 1.4, profiles 1g, 2g, 3g, 7g{}",
                             seeds == 1 ? "" : fmt::format("; ours: mean of {} seeds from 20260914", seeds));
  PaperSection section;
  section.name = "migbench";
  section.header = {"scheduler", "makespan s", "mean wait s", "p95 wait s", "mean time to end s", "from"};
  const auto add = [&](const std::string& name, const MigbenchFigures& f, const char* from) {
    section.rows.push_back({name, fmt::format("{:.0f}", f.makespan_s), fmt::format("{:.0f}", f.mean_wait_s),
                            fmt::format("{:.0f}", f.p95_wait_s),
                            f.mean_turnaround_s ? fmt::format("{:.0f}", *f.mean_turnaround_s) : "n/a", from});
    section.json.push_back({{"scheduler", name},
                            {"makespan_s", f.makespan_s},
                            {"mean_wait_s", f.mean_wait_s},
                            {"p95_wait_s", f.p95_wait_s},
                            {"mean_turnaround_s", f.mean_turnaround_s ? nlohmann::ordered_json(*f.mean_turnaround_s)
                                                                      : nlohmann::ordered_json()},
                            {"from", from}});
  };
  for (const PrintedScheduler& printed : kPrinted)
    add(printed.name, {printed.makespan_s, printed.mean_wait_s, printed.p95_wait_s}, "printed");
  for (std::size_t p = 0; p < policies; ++p) {
    MigbenchFigures mean;
    for (std::size_t s = 0; s < seeds; ++s) {
      const auto& one = results[s * policies + p];
      if (!one) return one.error();
      mean.makespan_s += one->makespan_s / double(seeds);
      mean.mean_wait_s += one->mean_wait_s / double(seeds);
      mean.p95_wait_s += one->p95_wait_s / double(seeds);
      mean.mean_turnaround_s = mean.mean_turnaround_s.value_or(0) + *one->mean_turnaround_s / double(seeds);
    }
    add(kMigbenchPolicies[p], mean, "simulated");
  }
  report.sections.push_back(std::move(section));
  report.closing =
      "\nThe jobs are MIGBench's own, by its rule and seed. Not matched: their schedulers are real programs on fake "
      "nodes and take 139 to 538 ms a\ndecision, outside the virtual time that is printed; a job there pays 250 ms before "
      "and 100 ms after it, here each change of a GPU\ntakes 350 ms and a slice that stays costs nothing; their schedulers "
      "see one job after the other and not how long it takes, ours\nsee the queue with its times.\n";
  return report;
}

}  // namespace smartmig
