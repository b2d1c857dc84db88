#include "policy/best.h"

namespace smartmig {

bool BestPolicy::deadline_waits(const Cluster& cluster) {
  const auto waits = [&](JobId job) {
    return cluster.state(job).phase == JobPhase::kQueued && cluster.jobs().job(job).has_deadline();
  };
  if (urgent_ != kNoJob && index(urgent_) < cluster.jobs().size() && waits(urgent_)) return true;
  for (urgent_ = cluster.first_unfinished(); urgent_ != kNoJob && !waits(urgent_);)
    urgent_ = cluster.next_unfinished(urgent_);
  return urgent_ != kNoJob;
}

void BestPolicy::decide(const Cluster& cluster, Plan& plan) {
  by_planner_ = deadline_waits(cluster);
  if (by_planner_)
    planner_->decide(cluster, plan);
  else
    batch_.decide(cluster, plan);
}

}  // namespace smartmig
