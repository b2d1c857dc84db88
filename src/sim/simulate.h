// One simulated run: a workload bound to a platform, a cost model, a policy, and the layouts at time 0.
#pragma once
#include <functional>
#include <memory>

#include "model/summary.h"
#include "sched/session.h"
#include "sim/estimates.h"

namespace smartmig {

struct SimSetup {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  CostModel cost;
  std::vector<Layout> initial;  // one per GPU
  double a = kPaperA;
  EstimateRule estimates{};  // what the policy is told about run times
};

struct SimResult {
  Cluster final;  // the true world's
  Summary summary;
  double wall_s = 0;          // of the loop alone
  std::uint64_t refused = 0;  // illegal actions the policy asked for
  std::string last_refusal;
};

// A policy that holds a job back (Plan::look_again) decides again at that instant, as in the daemon. `progress`, if
// given, hears from time to time which share of the jobs is done. An error if jobs are left that can never run; it
// names one and its needs.
Result<SimResult> simulate(const SimSetup& setup, Policy& policy, Journal* journal = nullptr,
                           const std::function<void(double)>& progress = {});

// The layouts of these shapes at time 0, one per GPU.
Result<std::vector<Layout>> initial_layouts(const Platform& platform, std::span<const Shape> shapes);

}  // namespace smartmig
