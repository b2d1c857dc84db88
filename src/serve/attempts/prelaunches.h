// Processes of waiting jobs that start before their slice is free (docs/preload.md): the preload library holds them at
// their first CUDA call until Attempts grants them the slice that the policy decides on, as on any other waiting job.
//
// Invariants:
//   - such an attempt is in its job's record (JobRecord::prelaunch) and stored before anything of it starts;
//   - at most prelaunch.jobs of them wait at a time, with a quarter of the host's memory together, and at most as many
//     as a quarter of its cores are on their way to their first CUDA call, with a core each;
//   - a job that cannot be held, or failed so, is not started ahead again (JobRecord::prelaunch.refused says why);
//   - one that may not run any more (held by somebody, moved to a later begin) gives its processes up, and so does one that
//     ends while it waits (it fits no slice of the fleet, what it depends on failed).
// Thread rule: the owner's.
#pragma once
#include "base/moved.h"
#include "sched/policy.h"
#include "serve/attempts/attempts.h"

namespace smartmig {

class Prelaunches {
 public:
  Prelaunches(const Settings& settings, JobRunner& runner, bool emulated, LiveSession& session, LiveJobs& book,
              AttemptTable& table, Attempts& attempts)
      : settings_(settings),
        runner_(runner),
        emulated_(emulated),
        session_(session),
        book_(book),
        table_(table),
        attempts_(attempts) {}

  void give_up_held();  // of jobs that may not run; before the commit
  // Before the commit: the next waiting jobs, in the order in which the policy means to start them.
  void choose(const Policy& policy);
  void carry_out();  // after it
  // What came of a start; false: it was none of these. Before the ends of attempts.
  bool begun(const JobRunner::Begun& one);
  // While some are on their way to CUDA and others wait for that.
  UnixTime next_due() const { return next_look_; }
  void clock_stepped(Time by) {
    next_look_ = moved(next_look_, by);
    next_try_ = moved(next_try_, by);
  }

 private:
  struct Use {
    int jobs = 0, on_the_way = 0;
    std::int64_t mem_mib = 0;
  };
  Use used();
  int mem_mib_of(const JobRecord& job) const;
  bool eligible(const JobRecord& job) const;
  bool refused(JobRecord& job);
  std::optional<Result<Ok>> start(const JobRecord& job);
  void never_began(JobRecord& job, const Error& error);
  void end_left();
  std::vector<JobRecord*> next_jobs(const Policy& policy);

  const Settings& settings_;
  JobRunner& runner_;
  const bool emulated_;
  LiveSession& session_;
  LiveJobs& book_;
  AttemptTable& table_;
  Attempts& attempts_;
  std::set<AttemptId> at_cuda_;   // of those ahead
  std::set<AttemptId> given_up_;  // of those ahead: their jobs have ended
  std::vector<QueueId> to_start_;
  UnixTime next_look_ = kNeverUnix, next_try_{};
};

}  // namespace smartmig
