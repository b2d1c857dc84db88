#include "policy/planner/slice_price.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "base/math.h"
#include "policy/planner/job_rest.h"

namespace smartmig {
namespace {

constexpr std::size_t kFewGpus = 8;

// Behind a queue who comes waits; else on many GPUs one is free soon.
double chance_to_wait(double load, double in_use, bool queue, std::size_t gpus) {
  const double least = std::min(load, in_use);
  if (gpus <= kFewGpus || queue || least >= 1) return std::min(least, 1.0);
  const double power = 1 + std::sqrt(2.0 * double(gpus + 1)) - std::sqrt(2.0 * double(kFewGpus + 1));
  return least <= 0 ? 0 : deterministic_exp(power * deterministic_log(least));
}

}  // namespace

// A job that is shown anew, with another deadline, came before.
void SlicePrice::see_arrivals(const Cluster& cluster) {
  busy_ = 0;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    busy_ += gpu.busy_slices - 0.5 * std::popcount(gpu.busy.bits() & cluster.platform().model(GpuId(g)).halves);
  }
  arrivals_->by_length.see(cluster.now());
  std::set<std::string> withdrawn;
  const auto name_of = [&](JobId job) { return cluster.jobs().workload().name_of(index(job)); };
  for (const Event& event : cluster.news())
    if (event.kind == EventKind::kWithdrawn) withdrawn.insert(name_of(event.job));
  for (const Event& event : cluster.news())
    if (event.kind == EventKind::kSubmitted && (withdrawn.empty() || withdrawn.count(name_of(event.job)) == 0))
      see_arrival(cluster, event.job);
}

void SlicePrice::see_arrival(const Cluster& cluster, JobId job) {
  double area = -1, run = 0, on_a_slot = 0;
  const JobRest rest(cluster, job);
  for (std::size_t t = 0; t < cluster.platform().types().size(); ++t) {
    const Time work = rest.known() ? cluster.jobs().work(job, TypeId(t)) : rest.on(cluster, job, TypeId(t));
    if (work < Time{0}) continue;
    on_a_slot = std::max(on_a_slot, minutes(work));
    const double m = minutes(work), a = m * cluster.platform().type(TypeId(t)).room;
    if (area < 0 || a < area * (1 - 1e-9)) area = a, run = m;
  }
  if (area < 0) return;
  ArrivalAverages& known = *arrivals_;
  // One that was held back for longer than it runs is of a backlog of its user's, and needs no room at once.
  const bool comes = minutes(cluster.now() - cluster.jobs().job(job).submit) <= on_a_slot;
  for (const JobRest::Case& one : rest.cases())
    if (comes && one.share > 0) known.by_length.add(cluster.now(), on_a_slot * one.of_mean, one.share);
  const double span = weights_.memory * std::max(known.run_min, 1e-6);
  if (known.last >= Time{0}) known.recent *= deterministic_exp(-minutes(cluster.now() - known.last) / span);
  known.last = cluster.now();
  known.recent += 1;
  ++known.seen;
  const double share = 1 / std::min(double(known.seen), std::max(20.0, known.recent));
  known.run_min += share * (run - known.run_min);
  known.area_min += share * (area - known.area_min);
  const Time restart = cluster.jobs().job(job).restart;
  const double pays =
      restart < Time{0} ? 0 : std::max(0.0, 1 - weights_.restart * minutes(restart) / std::max(run, 1e-6));
  known.stoppable_min += share * (area * pays - known.stoppable_min);
}

double SlicePrice::rate(Time now) const {
  if (arrivals_->seen == 0) return 0;
  const double span = weights_.memory * std::max(arrivals_->run_min, 1e-6), quiet = minutes(now - arrivals_->last);
  constexpr double kMeanGaps = 5;  // so long a silence is no chance any more: fewer come than came
  const double rate = arrivals_->recent * deterministic_exp(-quiet / span) / span;
  return rate * quiet > kMeanGaps ? kMeanGaps / quiet : rate;
}

double SlicePrice::slices(const Cluster& cluster) const {
  if (identity_ != cluster.identity()) {
    identity_ = cluster.identity();
    slices_ = cluster.platform().total_compute_slices();
  }
  return slices_;
}

double SlicePrice::load(const Cluster& cluster) const {
  return rate(cluster.now()) * arrivals_->area_min / slices(cluster);
}

double SlicePrice::price(const Cluster& cluster, const WaitingList::Others& others) const {
  const double all = slices(cluster);
  double delayed = weights_.late * double(others.late);
  if (arrivals_->seen >= 2 && arrivals_->area_min > 0) {
    constexpr double kMostLoad = 0.8;
    const double rho = std::min(load(cluster), kMostLoad), arrivals = rho * all / arrivals_->area_min;
    const double one_gpu = all / double(cluster.gpus().size());
    const double wanted = busy_ + others.slice_minutes / arrivals_->run_min;
    const double in_use = std::min(1.0, (wanted + one_gpu) / all);
    const double coming =
        weights_.coming * arrivals_->run_min *
        std::min(kMostLoad, chance_to_wait(load(cluster), in_use, wanted > all, cluster.gpus().size()));
    delayed += arrivals * (coming + weights_.backlog * others.ahead / all * in_use) / (1.05 - rho);
  }
  if (arrivals_->area_min > 0) delayed *= 1 - weights_.stopping * arrivals_->stoppable_min / arrivals_->area_min;
  return delayed / all;
}

}  // namespace smartmig
