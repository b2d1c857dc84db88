// The waiting jobs of a cluster in the order in which a list planner looks at them: those with a deadline, then those
// without; among each shortest first, by the time on the fastest slice, then by arrival. So a deadline never puts a job
// further back, and what those without one want counts for them alone. While jobs wait whose deadline keeps fairness
// between users (queue/jobs/admission.h), those with a deadline are in the order of their deadlines: shortest first, a
// user with ever more short jobs would have all slices. Kept from decision to decision and corrected by
// what has changed, so that a long queue costs little; a cluster never seen before, or one that others have decided
// for, is read again.
#pragma once
#include <array>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "policy/planner/room.h"

namespace smartmig {

class WaitingList {
 public:
  struct Entry {
    Time least;  // on its fastest slice, what it has left
    JobId job;
    Time area;  // compute slices times time, on the size that takes least
    bool due;   // it has a deadline
    Time submit;
    Time turn{};             // before others with a deadline; 0: none goes by turns
    bool fair = false;       // its deadline keeps fairness between users
    std::size_t octave = 0;  // of its time on its slowest slice (policy/planner/room.h)
    bool operator<(const Entry& other) const {
      if (due != other.due) return due;
      if (turn != other.turn) return turn < other.turn;
      if (least != other.least) return least < other.least;
      // A job that comes back has a new row (queue/belief/belief.h) and its old place.
      return submit != other.submit ? submit < other.submit : index(job) < index(other.job);
    }
  };

  // Brings the list to the cluster's present. `touched`: jobs that were to start or stop at the last
  // decision.
  void update(const Cluster& cluster, const std::vector<JobId>& touched);
  const std::vector<Entry>& entries() const { return entries_; }
  // Late even on the fastest slice. Without a deadline: always, as it is wanted at once.
  std::size_t late() const { return counted_[0].late + counted_[1].late; }
  bool has(JobId job) const { return index(job) < marks_.size() && marks_[index(job)] != Mark::kAway; }
  const Entry& entry(JobId job) const { return known_[index(job)]; }  // REQUIRES: has(job)
  bool is_late(JobId job) const { return marks_[index(job)] == Mark::kLate; }
  struct Others {
    std::size_t late = 0;
    double slice_minutes = 0;
    double ahead = 0;  // slice-minutes of these that a job that comes finds ahead of it, in the mean
  };
  void expect(const ArrivalsByLength::Shares& longer) { longer_ = longer; }
  // Who suffers if a job takes slices for longer: all others that wait, for one with a deadline those that have one too.
  Others others(const Cluster& cluster, JobId job) const {
    return without(cluster.jobs().job(job).has_deadline(), has(job) ? &entry(job) : nullptr);
  }
  Others all(bool due) const { return without(due, nullptr); }  // the same for one that does not wait

 private:
  __extension__ using Area = __int128;
  enum class Mark : std::uint8_t { kAway, kOnTime, kLate };
  Others without(bool due, const Entry* one) const;
  void add(const Cluster& cluster, JobId job);
  void remove(JobId job);
  void count(const Cluster& cluster, const Entry& entry);  // it waits from now on
  Entry entry_of(const Cluster& cluster, JobId job) const;
  void give_turn(const Cluster& cluster, Entry& entry) const;
  void take_turns(const Cluster& cluster);
  void read_anew(const Cluster& cluster);

  std::vector<Entry> entries_;
  std::vector<Mark> marks_;   // by job
  std::vector<Entry> known_;  // by job: as it was added
  std::priority_queue<std::pair<Time, std::uint32_t>, std::vector<std::pair<Time, std::uint32_t>>, std::greater<>>
      latest_starts_;  // of jobs that were on time when they were added
  struct Counted {
    std::size_t late = 0;
    // Whole microseconds: the same queue gives the same bits, whatever came and went before.
    Area area = 0;
    std::array<Area, ArrivalsByLength::kOctaves> by_length{};
  };
  Counted counted_[2];  // of jobs without and with a deadline
  ArrivalsByLength::Shares longer_{};
  std::size_t fair_ = 0;   // jobs that wait so
  bool by_turns_ = false;  // the list is in the order of deadlines
  std::uint64_t identity_ = 0, expected_decision_ = 0;
};

}  // namespace smartmig
