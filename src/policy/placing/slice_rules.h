// Parts that placing rules share: the finish of a job on every slice type, EDF's slice rule, orders by deadline.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "policy/placing/placing_state.h"

namespace smartmig {

// When a job would finish on each slice type if placed there now; kNever where it cannot run.
class FinishByType {
 public:
  FinishByType(const Cluster& cluster, JobId job) {
    const std::span<const Time> work = cluster.jobs().work_row(job);
    const JobState& state = cluster.state(job);
    if (state.type == kNoType) {
      for (std::size_t t = 0; t < work.size(); ++t) finish_[t] = work[t] < Time{0} ? kNever : cluster.now() + work[t];
    } else {
      for (std::size_t t = 0; t < work.size(); ++t) finish_[t] = cluster.finish_on(job, TypeId(t));
    }
  }
  Time operator[](TypeId type) const { return finish_[index(type)]; }

 private:
  std::array<Time, 64> finish_;
};

// EDF's slice rule over GPUs in the given order: the first free slice, small to large within a GPU, that meets the
// deadline. If none does, the free slice with the earliest finish; ties go to the first in scan order.
template <class GpuOrder>
Slot first_on_time_else_earliest(const Cluster& cluster, const PlacingState& board, JobId job, const GpuOrder& order) {
  const FinishByType finish(cluster, job);
  const Time deadline = cluster.jobs().job(job).deadline;
  Slot earliest;
  Time earliest_finish = kNever;
  for (const std::uint32_t g : order) {
    const std::uint32_t free = board.gpus()[g].free;
    if (free == 0) continue;
    const auto& types = cluster.platform().model(GpuId(g)).type_of_placement;
    for (const PlacementId p : board.small_to_large(g)) {
      if (!(free >> index(p) & 1)) continue;
      const Time end = finish[types[index(p)]];
      if (end == kNever) continue;
      if (end <= deadline) return {GpuId(g), p};
      if (end < earliest_finish) {
        earliest_finish = end;
        earliest = {GpuId(g), p};
      }
    }
  }
  return earliest;
}

// GPUs 0, 1, 2, ... as a range.
class ByIndex {
 public:
  explicit ByIndex(const PlacingState& board) : count_(std::uint32_t(board.gpus().size())) {}
  struct Iterator {
    std::uint32_t at;
    std::uint32_t operator*() const { return at; }
    Iterator& operator++() {
      ++at;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count_}; }

 private:
  std::uint32_t count_;
};

// Sorts by (key(job), deadline, id); made-up deadlines come after all others.
template <class Key>
void order_by(const Cluster& cluster, std::vector<JobId>& jobs, Key key) {
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    const auto ka = key(a), kb = key(b);
    if (ka != kb) return ka < kb;
    const Job &ja = cluster.jobs().job(a), &jb = cluster.jobs().job(b);
    if (ja.deadline_made_up != jb.deadline_made_up) return jb.deadline_made_up;
    return ja.deadline != jb.deadline ? ja.deadline < jb.deadline : index(a) < index(b);
  });
}
inline void order_by_deadline(const Cluster& cluster, std::vector<JobId>& jobs) {
  order_by(cluster, jobs, [](JobId) { return 0; });
}

}  // namespace smartmig
