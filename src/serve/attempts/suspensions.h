// Jobs whose processes are suspended. Such a job keeps its slice: in the belief it stays there for its remaining time
// plus a month, so that no job waits for its end, and no policy may stop it. The record is committed first, then the
// signal is sent; a new daemon sends it again, so that a crash between the two loses nothing. Thread rule: the owner's.
#pragma once
#include "live/jobs/runner.h"
#include "queue/belief/live_session.h"
#include "serve/attempts/attempt_table.h"
#include "serve/gpus/slice_guard.h"

namespace smartmig {

class Suspensions {
 public:
  Suspensions(LiveSession& session, LiveJobs& book, const AttemptTable& table, JobRunner& runner,
              const SliceGuard& guard)
      : session_(session), book_(book), table_(table), runner_(runner), guard_(guard) {}

  // Before a commit. REQUIRES: it runs, and is not suspended, or is.
  void suspend(JobRecord& job);
  void resume(JobRecord& job);
  void again(const JobRecord& job);  // found running at the start of a daemon

  void believe_again(const JobRecord& job);  // its row holds an instant that has moved

  void tell_belief();  // at the start of a step, when the fleet has nothing left to tell of older rows
  std::size_t to_tell() const { return left_.size(); }
  void carry_out();  // after the commit

  // Other processes that are alive on its slice; if there are any, it must not continue.
  SliceGuard::Others others_beside(const JobRecord& job) const;

  static Time believed_left(const JobRecord& job);  // REQUIRES: it is suspended

 private:
  LiveSession& session_;
  LiveJobs& book_;
  const AttemptTable& table_;
  JobRunner& runner_;
  const SliceGuard& guard_;
  std::map<QueueId, Time> left_;          // what the belief is to have
  std::map<QueueId, bool> to_carry_out_;  // true: suspend
};

}  // namespace smartmig
