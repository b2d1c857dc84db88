#include "policy/slice_price.h"

#include <algorithm>

namespace smartmig {

void SlicePrice::see_arrival(const Cluster& cluster, JobId job) {
  double area = -1, run = 0;
  for (std::size_t t = 0; t < cluster.platform().types().size(); ++t) {
    const Time work = cluster.jobs().work(job, TypeId(t));
    if (work < Time{0}) continue;
    const double m = minutes(work), a = m * cluster.platform().type(TypeId(t)).compute_slices;
    if (area < 0 || a < area * (1 - 1e-9)) area = a, run = m;
  }
  if (area < 0) return;
  const double gap = arrivals_->last < Time{0} ? 0 : minutes(cluster.now() - arrivals_->last);
  arrivals_->last = cluster.now();
  ++arrivals_->seen;
  // An average over about `memory` runs: that many gaps.
  const double keep =
      arrivals_->gap_min > 0 ? std::max(20.0, weights_.memory * arrivals_->run_min / arrivals_->gap_min) : 20.0;
  const double share = 1 / std::min(double(arrivals_->seen), keep);
  arrivals_->run_min += share * (run - arrivals_->run_min);
  arrivals_->area_min += share * (area - arrivals_->area_min);
  if (arrivals_->seen > 1)
    arrivals_->gap_min += (1 / std::min(double(arrivals_->seen - 1), keep)) * (gap - arrivals_->gap_min);
}

double SlicePrice::load(const Cluster& cluster) const {
  if (arrivals_->seen < 2) return 0;
  const double since = minutes(cluster.now() - arrivals_->last);
  const double gap = std::max(arrivals_->gap_min, since);  // a lull shows before the next arrival
  return gap > 0 ? arrivals_->area_min / gap / cluster.platform().total_compute_slices() : 1;
}

double SlicePrice::price(const Cluster& cluster, std::size_t late_jobs, double waiting_area_min) const {
  double coming = 0;
  if (arrivals_->seen >= 2) {
    const double rho = std::min(load(cluster), 1.0);
    const double rate = rho * cluster.platform().total_compute_slices() / std::max(1e-9, arrivals_->area_min);
    coming = rate * arrivals_->run_min * rho / (1.05 - rho);
    coming += weights_.backlog / std::max(1e-9, weights_.coming) * rate * waiting_area_min /
              cluster.platform().total_compute_slices() / (1.05 - rho);
  }
  return (weights_.late * double(late_jobs) + weights_.coming * coming) / cluster.platform().total_compute_slices();
}

}  // namespace smartmig
