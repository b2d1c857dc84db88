#include "policy/value_placer.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace smartmig {
namespace {

// What a slice draws while it is busy: its share of a full GPU where watts depend on slices alone.
double watts_of(const Cluster& cluster, JobId job, TypeId type) {
  const SliceType& slice = cluster.platform().type(type);
  const PowerModel& power = cluster.platform().models()[std::size_t(slice.model)].power;
  if (!power.is_table()) return cluster.jobs().added_watts(job, type);
  return (power.table().back() - power.idle()) * slice.compute_slices / (double(power.table().size()) - 1);
}

}  // namespace

void ValuePlacer::see_types(const Cluster& cluster) {
  const Platform& platform = cluster.platform();
  std::vector<std::int64_t> count(platform.types().size());
  for (std::size_t g = 0; g < board_.gpus().size(); ++g)
    for (const PlacementId p : board_.gpus()[g].usable)
      if (board_.gpus()[g].free >> index(p) & 1) ++count[index(platform.type_of(GpuId(g), p))];
  on_offer_.clear();
  slots_.clear();
  for (std::size_t t = 0; t < count.size(); ++t)
    if (count[t] > 0) on_offer_.push_back(TypeId(t));
  // More than the market takes: those of which most are free; the others are offered when these have gone.
  if (on_offer_.size() > SlotMarket::kMaxTypes) {
    std::stable_sort(on_offer_.begin(), on_offer_.end(),
                     [&](TypeId a, TypeId b) { return count[index(a)] > count[index(b)]; });
    on_offer_.resize(SlotMarket::kMaxTypes);
  }
  for (const TypeId type : on_offer_) slots_.push_back(count[index(type)]);
}

void ValuePlacer::offer(const Cluster& cluster, double w) {
  const Platform& platform = cluster.platform();
  const std::size_t types = platform.types().size(), row = types + 2;
  const double now = minutes(cluster.now());
  times_.resize(jobs_.size() * row);
  double late = 0;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    double* const time = &times_[j * row];
    time[types] = HUGE_VAL;
    for (std::size_t t = 0; t < types; ++t) {
      const Time left = cluster.remaining_on(jobs_[j], TypeId(t));
      time[t] = left == kCannotRun ? HUGE_VAL : minutes(std::max(left, Time{1}));
      time[types] = std::min(time[types], time[t]);
    }
    const Time deadline = cluster.jobs().job(jobs_[j]).deadline;
    time[types + 1] = deadline == kNever ? HUGE_VAL : minutes(deadline) - now;
    late += time[types + 1] < 0.5 * time[types];
  }
  const JobValue fresh(weights_, late / double(platform.total_compute_slices()));
  market_.reset(int(on_offer_.size()));
  gains_.resize(on_offer_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const double *const time = &times_[j * row], least = time[types];
    // Linearity: slice-minutes on the smallest slice over those on the fastest.
    double smallest = 0, fastest = 0, watt_minutes = HUGE_VAL;
    int smallest_slices = 0;
    for (std::size_t t = 0; t < types; ++t) {
      if (time[t] == HUGE_VAL) continue;
      const int slices = platform.type(TypeId(t)).compute_slices;
      watt_minutes = std::min(watt_minutes, watts_of(cluster, jobs_[j], TypeId(t)) * time[t]);
      if (smallest_slices == 0 || slices < smallest_slices) {
        smallest_slices = slices;
        smallest = time[t] * slices;
      }
      if (time[t] == least && fastest == 0) fastest = time[t] * slices;
    }
    JobValue value = fresh;
    value.look({least, time[types + 1], std::clamp(fastest > 0 ? smallest / fastest : 1.0, 0.0, 1.0),
                least < HUGE_VAL ? w * watt_minutes / least : 0});
    for (std::size_t i = 0; i < on_offer_.size(); ++i) {
      const double t = time[index(on_offer_[i])];
      gains_[i] = t == HUGE_VAL ? SlotMarket::kImpossible
                                : value.gain(least / t) - w * watts_of(cluster, jobs_[j], on_offer_[i]);
    }
    market_.add_item(gains_, 1);
  }
  for (std::size_t i = 0; i < on_offer_.size(); ++i) market_.add_slots(int(i), slots_[i]);
}

// Jobs with a slot, in order of arrival: on the fullest GPU that has a free slice of the type.
void ValuePlacer::take_slices(const Cluster& cluster) {
  assigned_.clear();
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    for (std::size_t i = 0; i < on_offer_.size(); ++i) {
      if (market_.assigned(j, int(i)) == 0) continue;
      Slot best;
      int best_taken = -1;
      for (const std::uint32_t g : board_.by_mean_size()) {
        const Board::Gpu& gpu = board_.gpus()[g];
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
  // Waiting may be worth the energy it saves, but not for ever: without a running job no event would wake the placer.
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
