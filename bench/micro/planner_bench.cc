// One decision of the joint planner in the middle of the busiest hour, load in proportion to the GPUs.
#include <benchmark/benchmark.h>

#include "base/embedded.h"
#include "eval/experiment.h"
#include "policy/layouts/repartitioners.h"
#include "policy/placing/job_value.h"
#include "policy/planner/market_planner.h"
#include "sim/sim_fleet.h"
#include "sim/simulate.h"
#include "support/fixture.h"

namespace {

using namespace smartmig;

// Runs a day's busiest hour up to its tenth minute, then asks again and again: every answer is thrown away.
void planner_decision(benchmark::State& state) {
  Setting setting;
  setting.platform = fixture::platform(fmt::format("{}xa100-40gb", state.range(0)));
  setting.workload = fmt::format("paper:{}x,hours=10-11", 2.5 * double(state.range(0)));
  const Day day = make_day(setting, 1).value();
  MarketOptions options;
  options.weights = parse_weight_file("planner.json", embedded_file("policies/market.json")).value().weights;
  options.w = per_job_weight(setting, day.jobs->workload());
  MarketPlanner planner(options);
  Cluster cluster(setting.platform, day.jobs, {},
                  initial_layouts(*setting.platform, whole_gpus(*setting.platform)).value());
  SimFleet fleet(cluster);
  Session session(fleet, std::move(cluster));
  Plan plan;
  while (session.cluster().now() < std::chrono::minutes(610) && session.advance()) {
    plan.clear();
    planner.decide(session.cluster(), plan);
    session.act(plan);
  }
  for (auto _ : state) {
    plan.clear();
    planner.replan(session.cluster(), plan);
    benchmark::DoNotOptimize(plan.starts.data());
  }
  state.counters["unfinished_jobs"] = double(session.cluster().unfinished());
  state.counters["running_jobs"] = double(session.cluster().running());
}
BENCHMARK(planner_decision)->ArgName("gpus")->Arg(8)->Arg(64)->Arg(512)->Arg(4096)->Unit(benchmark::kMicrosecond);

}  // namespace
