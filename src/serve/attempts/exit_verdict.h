// The consequence of an attempt's exit for its job: it ends, goes back to the queue, or has gone there in the belief
// already. Pure: the record, the exit, and the few facts around them. It does not examine failures: the memory watch
// says whether GPU memory ran out.
#pragma once
#include "live/jobs/runner.h"
#include "queue/job_record.h"

namespace smartmig {

struct ExitFacts {
  double share_left = 1;  // of the whole job, as the belief has it
  bool believed = false;  // the belief has it waiting, or on its next slice, from where it was stopped
  std::string gpu_words;  // what is wrong with its GPU; "": nothing
};

struct ExitVerdict {
  enum Kind : std::uint8_t {
    kEnds,         // with `status` and `reason`; `completed` as JobTransitions::finish takes it
    kFails,        // the same, unless it was for want of GPU memory
    kBackToQueue,  // with `reason` and `remaining`
    kAsBelieved    // the same, and the belief has it so already
  } kind = kEnds;
  JobStatus status = JobStatus::kFailed;
  std::string reason;
  bool completed = false;
  double remaining = 1;
  bool preempted = false;
};

ExitVerdict verdict_of(const JobRecord& job, const AttemptExit& exit, const ExitFacts& facts);

}  // namespace smartmig
