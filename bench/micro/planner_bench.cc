// One decision of the joint planner in the middle of the busiest hour, load in proportion to the GPUs.
#include <benchmark/benchmark.h>

#include "eval/experiment.h"
#include "policy/planner.h"
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
  PolicyOptions options;
  options.rule.w = per_job_weight(setting, day.jobs->workload());
  NamedPolicy named = std::move(make_policy("planner", options, {}, *setting.platform).value());
  Cluster cluster(setting.platform, day.jobs, {}, initial_layouts(*setting.platform, named.initial).value());
  SimFleet fleet(cluster);
  Session session(fleet, std::move(cluster));
  Plan plan;
  while (session.cluster().now() < std::chrono::minutes(610) && session.advance()) {
    plan.clear();
    named.policy->decide(session.cluster(), plan);
    session.act(plan);
  }
  auto& planner = dynamic_cast<Planner&>(*named.policy);
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
