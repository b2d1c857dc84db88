#include "policy/planner/best.h"

#include <algorithm>

#include "policy/planner/job_rest.h"

namespace smartmig {
namespace {

// A GPU that takes work, has none, and gets none by the plan.
bool leaves_a_gpu_idle(const Cluster& cluster, const Plan& plan) {
  std::vector<std::uint8_t> used(cluster.gpus().size(), 0);
  for (const Start& start : plan.starts) used[index(start.gpu)] = 1;
  for (const Reshape& reshape : plan.reshapes) used[index(reshape.gpu)] = 1;
  for (std::size_t g = 0; g < used.size(); ++g)
    if (!used[g] && cluster.gpus()[g].busy.empty() && !cluster.gpus()[g].blocked) return true;
  return false;
}

double slots_of(const Cluster& cluster) {
  double slots = 0;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    slots += cluster.platform().model(GpuId(g)).gpu->compute_slices();
  return slots;
}

}  // namespace

bool BestPolicy::deadline_waits(const Cluster& cluster) {
  const auto waits = [&](JobId job) {
    return cluster.state(job).phase == JobPhase::kQueued && cluster.jobs().job(job).has_deadline();
  };
  if (urgent_ != kNoJob && index(urgent_) < cluster.jobs().size() && waits(urgent_)) return true;
  for (urgent_ = cluster.first_unfinished(); urgent_ != kNoJob && !waits(urgent_);)
    urgent_ = cluster.next_unfinished(urgent_);
  return urgent_ != kNoJob;
}

BestPolicy::Queue BestPolicy::look_at(const Cluster& cluster) const {
  Queue out;
  JobId before = kNoJob;
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    if (cluster.state(id).phase != JobPhase::kQueued) continue;
    const Job& job = cluster.jobs().job(id);
    ++out.jobs;
    out.first = std::min(out.first, job.submit);
    out.last = std::max(out.last, job.submit);
    double least = -1, fastest = -1;
    for (std::size_t t = 0; t < cluster.platform().types().size(); ++t) {
      const Time work = cluster.jobs().work(id, TypeId(t));
      const double area = minutes(work) * cluster.platform().type(TypeId(t)).room;
      if (work >= Time{0} && (least < 0 || area < least)) least = area;
      if (work >= Time{0} && (fastest < 0 || minutes(work) < fastest)) fastest = minutes(work);
    }
    out.slice_minutes += std::max(0.0, least);
    const double spread = shared_ && slots_of(cluster) >= kManySlots ? job.spread : 0;
    out.longest =
        std::max(out.longest, fastest * (spread < kUnknownSpread ? 1 : JobRest(cluster, id).longest_of_median()));
    for (std::size_t t = 0; t < cluster.platform().types().size() && before != kNoJob; ++t)
      out.alike &= cluster.jobs().work(id, TypeId(t)) == cluster.jobs().work(before, TypeId(t));
    before = id;
  }
  return out;
}

bool BestPolicy::is_batch(const Cluster& cluster, const Queue& queue) {
  constexpr double kTogether = 0.1, kQuiet = 0.5;  // shares of the time that the queue will take
  constexpr std::size_t kMoreCome = 4;             // one job more for so many
  const std::size_t came = cluster.counters().arrivals - cluster.counters().withdrawals;
  if (by_batch_) return queue.jobs > 0 && (std::max(came, came_before_) - came_before_) * kMoreCome <= batch_jobs_;
  if (queue.jobs < 2 || (shared_ && room_needed(arrivals_.by_length(), queue.longest, slots_of(cluster)).slots > 0))
    return false;
  const int slices = cluster.platform().total_compute_slices();
  batch_jobs_ = queue.jobs;
  came_before_ = came;
  const double takes = queue.slice_minutes / slices;
  if (minutes(queue.last - queue.first) <= kTogether * takes) return true;
  return queue.jobs > std::size_t(slices) && minutes(cluster.now() - queue.last) >= kQuiet * takes;
}

Time BestPolicy::burst_goes_on_until(const Cluster& cluster, const Queue& queue) const {
  constexpr double kOfTheQueue = 0.05;
  const int slices = cluster.platform().total_compute_slices();
  if (queue.alike && queue.jobs >= std::size_t(slices)) return Time{-1};
  const Time most = from_minutes(kOfTheQueue * queue.slice_minutes / slices);
  return std::min(queue.last + gather_, queue.first + std::clamp(most, 4 * gather_, 20 * gather_));
}

void BestPolicy::decide(const Cluster& cluster, Plan& plan) {
  if (deadline_waits(cluster)) {
    by_batch_ = false;
    return planner_->decide(cluster, plan);
  }
  const Queue queue = look_at(cluster);
  by_batch_ = is_batch(cluster, queue);
  if (by_batch_) {
    arrivals_.see_arrivals(cluster);
    batch_.decide(cluster, plan);
  } else {
    planner_->decide(cluster, plan);
  }
  if (plan.empty() || leaves_a_gpu_idle(cluster, plan)) return;
  const Time goes_on_until = burst_goes_on_until(cluster, queue);
  if (goes_on_until <= cluster.now()) return;
  plan.clear();
  plan.look_again = goes_on_until;
}

}  // namespace smartmig
