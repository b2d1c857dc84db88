// The waiting jobs of a cluster in the order in which a list planner looks at them: shortest first, by the time on the
// fastest slice, then by arrival. Kept from decision to decision and corrected by what has changed, so that a long queue
// costs little; a cluster never seen before, or one that others have decided for, is read anew.
#pragma once
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

class WaitingList {
 public:
  struct Entry {
    Time least;  // on its fastest slice, what it has left
    JobId job;
    Time area;  // compute slices times time, on the size that takes least
    bool operator<(const Entry& other) const {
      return least != other.least ? least < other.least : index(job) < index(other.job);
    }
  };

  // Brings the list to the cluster's present. `touched`: jobs that were to start or stop at the last
  // decision.
  void update(const Cluster& cluster, const std::vector<JobId>& touched);
  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t late() const { return late_; }  // late even on the fastest slice; no deadline: due at once
  bool has(JobId job) const { return index(job) < marks_.size() && marks_[index(job)] != Mark::kAway; }
  const Entry& entry(JobId job) const { return known_[index(job)]; }  // REQUIRES: has(job)
  bool is_late(JobId job) const { return marks_[index(job)] == Mark::kLate; }
  // Areas of all but this one, in slice-minutes. Kept as whole microseconds: the same queue gives the same bits,
  // whatever came and went before.
  double slice_minutes_without(const Entry& entry) const { return double(area_ - entry.area.count()) / 60e6; }
  double slice_minutes() const { return double(area_) / 60e6; }

 private:
  __extension__ using Area = __int128;
  enum class Mark : std::uint8_t { kAway, kOnTime, kLate };
  void add(const Cluster& cluster, JobId job);
  void remove(JobId job);
  void count(const Cluster& cluster, const Entry& entry);  // it waits from now on
  Entry entry_of(const Cluster& cluster, JobId job) const;
  void read_anew(const Cluster& cluster);

  std::vector<Entry> entries_;
  std::vector<Mark> marks_;   // by job
  std::vector<Entry> known_;  // by job: as it was added
  std::priority_queue<std::pair<Time, std::uint32_t>, std::vector<std::pair<Time, std::uint32_t>>, std::greater<>>
      latest_starts_;  // of jobs that were on time when they were added
  std::size_t late_ = 0;
  Area area_ = 0;
  std::uint64_t identity_ = 0, expected_decision_ = 0;
};

}  // namespace smartmig
