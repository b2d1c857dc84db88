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
  const double gap = last_ < Time{0} ? 0 : minutes(cluster.now() - last_);
  last_ = cluster.now();
  ++seen_;
  // An average over about `memory` runs: that many gaps.
  const double keep = gap_min_ > 0 ? std::max(20.0, weights_.memory * run_min_ / gap_min_) : 20.0;
  const double share = 1 / std::min(double(seen_), keep);
  run_min_ += share * (run - run_min_);
  area_min_ += share * (area - area_min_);
  if (seen_ > 1) gap_min_ += (1 / std::min(double(seen_ - 1), keep)) * (gap - gap_min_);
}

double SlicePrice::load(const Cluster& cluster) const {
  if (seen_ < 2) return 0;
  const double since = minutes(cluster.now() - last_);
  const double gap = std::max(gap_min_, since);  // a lull shows before the next arrival
  return gap > 0 ? area_min_ / gap / cluster.platform().total_compute_slices() : 1;
}

double SlicePrice::price(const Cluster& cluster, std::size_t late_jobs, double waiting_area_min) const {
  double coming = 0;
  if (seen_ >= 2) {
    const double rho = std::min(load(cluster), 1.0);
    const double rate = rho * cluster.platform().total_compute_slices() / std::max(1e-9, area_min_);
    coming = rate * run_min_ * rho / (1.05 - rho);
    coming += weights_.backlog / std::max(1e-9, weights_.coming) * rate * waiting_area_min /
              cluster.platform().total_compute_slices() / (1.05 - rho);
  }
  return (weights_.late * double(late_jobs) + weights_.coming * coming) / cluster.platform().total_compute_slices();
}

}  // namespace smartmig
