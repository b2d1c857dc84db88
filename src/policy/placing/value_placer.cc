#include "policy/placing/value_placer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "policy/placing/job_outlook.h"

namespace smartmig {

void ValuePlacer::see_types(const Cluster& cluster) {
  const Platform& platform = cluster.platform();
  std::vector<std::int64_t> count(platform.types().size());
  types_.clear();
  for (std::size_t t = 0; t < count.size(); ++t) types_.push_back(TypeId(t));
  for (std::size_t g = 0; g < board_.gpus().size(); ++g)
    for (const PlacementId p : board_.gpus()[g].usable)
      if (board_.gpus()[g].free >> index(p) & 1) ++count[index(platform.type_of(GpuId(g), p))];
  on_offer_.clear();
  slots_.clear();
  for (std::size_t t = 0; t < count.size(); ++t)
    if (count[t] > 0) on_offer_.push_back(TypeId(t));
  // More types than the market takes: offer those with the most free slices now, and the others when these are gone.
  if (on_offer_.size() > SlotMarket::kMaxTypes) {
    std::stable_sort(on_offer_.begin(), on_offer_.end(),
                     [&](TypeId a, TypeId b) { return count[index(a)] > count[index(b)]; });
    on_offer_.resize(SlotMarket::kMaxTypes);
  }
  for (const TypeId type : on_offer_) slots_.push_back(count[index(type)]);
}

void ValuePlacer::offer(const Cluster& cluster, double w) {
  const std::size_t types = types_.size();
  times_.resize(jobs_.size() * job_times_row(types));
  double late = 0;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobTimes times = job_times_at(times_, j, types);
    read_job_times(cluster, jobs_[j], types_, times);
    late += times.late();
  }
  const JobValue fresh(weights_, late / double(cluster.platform().total_compute_slices()));
  market_.reset(int(on_offer_.size()));
  gains_.resize(on_offer_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobTimes times = job_times_at(times_, j, types);
    JobValue value = fresh;
    value.look(outlook_of(cluster, jobs_[j], types_, times, w));
    for (std::size_t i = 0; i < on_offer_.size(); ++i) {
      const double t = times.on[index(on_offer_[i])];
      gains_[i] = t == HUGE_VAL ? SlotMarket::kImpossible
                                : value.gain(times.least / t) - w * busy_watts(cluster, jobs_[j], on_offer_[i]);
    }
    market_.add_item(gains_, 1);
  }
  for (std::size_t i = 0; i < on_offer_.size(); ++i) market_.add_slots(int(i), slots_[i]);
}

// Gives slices to jobs with a slot, by arrival: on the fullest GPU that has a free slice of the type.
void ValuePlacer::take_slices(const Cluster& cluster) {
  assigned_.clear();
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    for (std::size_t i = 0; i < on_offer_.size(); ++i) {
      if (market_.assigned(j, int(i)) == 0) continue;
      Slot best;
      int best_taken = -1;
      for (const std::uint32_t g : board_.by_mean_size()) {
        const PlacingState::Gpu& gpu = board_.gpus()[g];
        if (gpu.free == 0 || gpu.taken_slices <= best_taken) continue;
        for (const PlacementId p : gpu.usable)
          if ((gpu.free >> index(p) & 1) && cluster.platform().type_of(GpuId(g), p) == on_offer_[i]) {
            best = {GpuId(g), p};
            best_taken = gpu.taken_slices;
            break;
          }
      }
      SMARTMIG_CHECK(!best.none(), "more jobs than slices of type {}", index(on_offer_[i]));
      board_.take(jobs_[j], best);
      assigned_.emplace_back(jobs_[j], best);
      break;
    }
}

void ValuePlacer::place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) {
  const bool preemptive = cluster.cost().free();
  jobs_.clear();
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (preemptive || cluster.state(job).phase == JobPhase::kQueued) jobs_.push_back(job);
  board_.reset(cluster, usable, preemptive);
  see_types(cluster);
  assigned_.clear();
  if (!on_offer_.empty()) {
    offer(cluster, w_);
    take_slices(cluster);
  }
  // Waiting may be worth the energy it saves, but not for ever: without a running job, no event would wake the placer.
  if (assigned_.empty() && !on_offer_.empty() && !jobs_.empty() && (preemptive || cluster.running() == 0)) {
    offer(cluster, 0);
    take_slices(cluster);
  }
  if (!preemptive) {
    for (const auto& [job, slot] : assigned_) plan.starts.push_back({job, slot.gpu, slot.where});
    return;
  }
  diff_.write(cluster, board_, true, assigned_, jobs_, plan);
}

}  // namespace smartmig
