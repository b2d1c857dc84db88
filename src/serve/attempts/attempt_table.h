// Which attempts are under way, whose processes are on which slice, and which starts wait for a slice to be left.
//
// Invariants: a slice is held by one job at most; a job holds one slice at most; a start is postponed only while its
// job's last attempt is under way or its slice is held. Thread rule: the owner's.
#pragma once
#include <map>
#include <set>

#include "live/jobs/runner.h"
#include "live/live_fleet.h"
#include "queue/belief/belief.h"
#include "queue/jobs/live_jobs.h"
#include "serve/gpus/boards.h"

namespace smartmig {

class AttemptTable {
 public:
  // From the moment it is given to the runner to its exit, or until the runner says that it never began.
  void began(const JobRecord& job) {
    prelaunched_.erase(attempt_of(job));
    under_way_.insert(attempt_of(job));
  }
  bool ended(AttemptId id) {  // false: it is none of ours
    beginning_.erase(id);
    return under_way_.erase(id) + prelaunched_.erase(id) > 0;
  }
  bool under_way(const JobRecord& job) const { return under_way_.count(attempt_of(job)) > 0; }

  // Begun before it has a slice (prelaunches.h), until it has one or ends: its job waits.
  void began_ahead(const JobRecord& job) { prelaunched_.insert(attempt_of(job)); }
  bool prelaunched(const JobRecord& job) const { return prelaunched_.count(attempt_of(job)) > 0; }
  const std::set<AttemptId>& prelaunched() const { return prelaunched_; }

  // Of these, whether it began is not known yet (JobRunner::begin).
  void begins(const JobRecord& job) { beginning_.insert(attempt_of(job)); }
  bool beginning(const JobRecord& job) const { return beginning_.count(attempt_of(job)) > 0; }
  bool told(AttemptId id) { return beginning_.erase(id) > 0; }  // false: nobody asked

  // From the decision to the exit.
  void take(SliceKey slice, QueueId job);
  void leave(QueueId job);
  bool held(SliceKey slice) const { return on_slice_.count(slice) > 0; }
  const std::map<SliceKey, QueueId>& slices() const { return on_slice_; }
  QueueId holder(SliceKey slice) const;  // 0: nobody
  std::vector<QueueId> on_gpu(int gpu) const;

  bool must_wait(const JobRecord& job, SliceKey slice) const { return under_way(job) || held(slice); }
  void postpone(QueueId job, const LiveFleet::Effect& start) { postponed_[job] = start; }
  bool postponed(QueueId job) const { return postponed_.count(job) > 0; }
  std::size_t postponed_count() const { return postponed_.size(); }
  void drop_postponed(QueueId job) { postponed_.erase(job); }
  // Postponed starts that need not wait any more, of jobs that the belief still has there.
  std::vector<std::pair<JobRecord*, LiveFleet::Effect>> take_ready(LiveJobs& book, const Belief& belief);
  void rows_renumbered(const Belief& belief);

  struct Running {
    const JobRecord* job = nullptr;
    int slices = 0;   // compute slices that count for its user: what it asked for, at most what it has
    double room = 0;  // of its GPU that it takes of these
  };
  std::vector<Running> running(const LiveJobs& book, const Platform& platform) const;
  std::map<QueueId, int> running_of_arrays(const LiveJobs& book) const;      // array id -> tasks
  std::map<std::string, int> running_of_groups(const LiveJobs& book) const;  // group -> jobs

 private:
  std::set<AttemptId> under_way_, prelaunched_, beginning_;
  std::map<SliceKey, QueueId> on_slice_;
  std::map<QueueId, LiveFleet::Effect> postponed_;
};

inline SliceKey key_of(const LiveFleet::Effect& effect) { return {index(effect.gpu), index(effect.where)}; }

}  // namespace smartmig
