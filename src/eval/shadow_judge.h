// Judges a guarded policy by the past: beside the real run, it and each plain policy run in shadows, simulated worlds
// that are fed the same arrivals up to now. Every half hour, from the second hour on, their costs of the last four
// hours are compared, (new tardiness) + w * (new energy); if the policy's shadow did worse than a plain one's by more
// than a margin, the plain one decides until the policy's shadow is ahead again. Nothing is known before it happens: a
// shadow never runs past the present. Cost of watching: one simulation of each candidate.
//
// For simulations: the shadows see the jobs of the cluster that is judged, from its beginning.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "policy/registry.h"

namespace smartmig {

struct ShadowOptions {
  Time check = std::chrono::minutes(30), window = std::chrono::hours(4);
  double margin = 0.01;
};

class ShadowJudge {
 public:
  // The candidates again: each shadow needs a policy of its own. `w`: weight of a watt-minute against a minute late.
  ShadowJudge(std::vector<NamedPolicy> candidates, double w, ShadowOptions options = {});
  ~ShadowJudge();
  std::size_t choose(const Cluster& cluster, std::size_t deciding);

 private:
  struct Shadow;
  void begin(const Cluster& cluster);
  std::size_t compare(Time now, std::size_t deciding);

  ShadowOptions options_;
  double w_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  std::uint64_t identity_ = 0;
  Time next_check_{};
};

}  // namespace smartmig
