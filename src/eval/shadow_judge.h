// Judges a guarded policy by the past. The policy and each fallback candidate run as shadows: simulated worlds that
// receive the real run's arrivals so far. At each check, from half a window on, it compares their costs over the
// window: (new tardiness) + w * (new energy). If another candidate's shadow was better than the policy's by more than a
// margin, that candidate decides until the policy's shadow has caught up. A shadow never runs past the present.
// Watching costs one simulation of each candidate.
//
// A window is eight checks. A check is at least half an hour and at least the mean time of a job on a whole GPU, since
// decisions about jobs of hours show after hours. Tardiness counts running jobs with their expected finish and waiting
// jobs as if they began now. Under hardware costs, where a bad start persists, the planner decides until there is
// evidence, the margin is wider, and the costs since the beginning must agree with those of the window.
//
// For simulations only: the shadows see the judged cluster's jobs from its beginning.
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
  // The candidates again, since each shadow needs its own policy. `first` decides before there is evidence. `w`: weight
  // of a watt-minute against a minute late.
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
