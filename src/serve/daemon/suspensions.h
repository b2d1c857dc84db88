// Jobs whose processes are stopped for a while. One of them keeps its slice: the belief has it there with its time left
// and a month more, so that nobody waits for its end, and no policy may stop it. Record first, then the signal after the
// commit; a new daemon sends it again, so that a crash between the two loses nothing. Thread rule: the owner's.
#pragma once
#include "live/jobs/runner.h"
#include "serve/daemon/attempt_table.h"
#include "serve/daemon/live_session.h"
#include "serve/daemon/slice_guard.h"

namespace smartmig {

class Suspensions {
 public:
  Suspensions(LiveSession& session, JobBook& book, const AttemptTable& table, JobRunner& runner,
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

  // Who is alive on its slice besides it: then it must not go on.
  SliceGuard::Others others_beside(const JobRecord& job) const;

  static Time believed_left(const JobRecord& job);  // REQUIRES: it is suspended

 private:
  LiveSession& session_;
  JobBook& book_;
  const AttemptTable& table_;
  JobRunner& runner_;
  const SliceGuard& guard_;
  std::map<QueueId, Time> left_;          // what the belief is to have
  std::map<QueueId, bool> to_carry_out_;  // true: suspend
};

}  // namespace smartmig
