// Judges a guarded policy by the past: beside the real run, it and each candidate to fall back to run in shadows, simulated
// worlds that are fed the same arrivals up to now. At each check, from half a window on, their costs over the window are
// compared, (new tardiness) + w * (new energy); if the policy's shadow did worse than another by more than a margin, that
// one decides until the policy's shadow is level again. Nothing is known before it happens: a shadow never runs past the
// present. Cost of watching: one simulation of each candidate.
//
// A window is eight checks, a check at least half an hour and at least the mean time of a job on a whole GPU: what is
// decided about jobs of hours shows after hours. Tardiness counts jobs that run with their expected finish and jobs that
// wait as if they began now. Under hardware costs, where a bad start stays, the planner decides until there is
// something to judge by, the margin is wider, and the costs since the beginning must agree with those of the window.
//
// For simulations: the shadows see the jobs of the cluster that is judged, from its beginning.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "policy/registry.h"

namespace smartmig {

struct ShadowOptions {
  Time check = std::chrono::minutes(30);
  double margin = 0.01, margin_with_costs = 0.05;
};

class ShadowJudge {
 public:
  // The candidates again: each shadow needs a policy of its own. `first` decides before there is something to judge by.
  // `w`: weight of a watt-minute against a minute late.
  ShadowJudge(std::vector<NamedPolicy> candidates, std::size_t first, double w, ShadowOptions options = {});
  ~ShadowJudge();
  std::size_t choose(const Cluster& cluster, std::size_t deciding);

 private:
  struct Shadow;
  void begin(const Cluster& cluster);
  std::size_t compare(const Cluster& cluster, std::size_t deciding);

  ShadowOptions options_;
  double w_;
  std::size_t first_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  std::uint64_t identity_ = 0;
  Time next_check_{};
};

}  // namespace smartmig
