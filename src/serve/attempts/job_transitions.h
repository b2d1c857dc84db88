// A job's way through the queue apart from its attempts: held while it waits for others, for its begin, its reservation
// or its release, back to the queue after an attempt, ended. Each of these leaves the record, the belief, the counts
// and the journal in agreement. Thread rule: the owner's.
#pragma once
#include <deque>
#include <set>

#include "queue/answers/figures.h"
#include "queue/belief/live_session.h"
#include "queue/jobs/asked_size.h"
#include "queue/jobs/gpu_reservations.h"
#include "queue/jobs/live_jobs.h"
#include "queue/jobs/quotas.h"
#include "serve/attempts/attempt_table.h"

namespace smartmig {

class JobTransitions {
 public:
  JobTransitions(LiveSession& session, LiveJobs& book, Figures& figures, const GpuReservations& reservations,
                 const AttemptTable& table, Quotas& quotas)
      : session_(session),
        book_(book),
        figures_(figures),
        reservations_(reservations),
        table_(table),
        quotas_(quotas) {}

  // The end of a job, and of those that can never run without it: the first kMostSettled of a step at once, the others
  // in the steps that follow (go_on). `completed`: it ran to its end, whatever its exit
  // code; else it is taken out of the belief. Processes that began ahead of its slice are ended after the commit
  // (prelaunches.h). The reference is dead afterwards.
  void finish(JobRecord& job, JobStatus status, std::string reason, bool completed);
  void back_to_queue(JobRecord& job, std::string reason, double remaining);
  // The same of one that the belief has waiting, or on its next slice, with what is left.
  void back_as_believed(JobRecord& job, std::string reason, double remaining);
  // Held or free to run by who holds it, when it begins and what it depends on now; ended, where that can never hold.
  // False: it may not run. REQUIRES: it waits.
  bool check_dependencies(JobRecord& job);
  void started(JobRecord& job);                           // its attempt has begun: some may wait for that
  void release_due();                                     // whose begin has come
  std::string never_starts(const JobRecord& job) const {  // for its quotas, in words; empty: it may
    return quotas_.never_fits(job, asked_slices(job, session_.platform()));
  }
  void quotas_changed();  // the limits: some that wait for the next week may run
  void go_on();           // at the begin of a step: with those that wait for jobs that have ended
  UnixTime next_due() const {
    if (!to_settle_.empty() || released_) return UnixTime{};
    return begins_.empty() ? kNeverUnix : begins_.begin()->first;
  }

  // What owners asked to hear of, since the last call: best effort, not stored.
  struct Mail {
    MailEvent event;
    JobRecord job;
  };
  std::vector<Mail> take_mail() { return std::exchange(mail_, {}); }

 private:
  void attempt_over(JobRecord& job, JobStatus status);
  void waits_again(JobRecord& job, std::string reason, double remaining);
  bool look_again(JobRecord& job);
  void settle();
  void settle_dependent(JobRecord& job, QueueId ended, JobStatus status);
  void settle_namesake(std::uint32_t uid, const std::string& name, QueueId id);
  std::string waits_for(JobRecord& job);  // in words; empty: nothing
  void tell(MailEvent event, const JobRecord& job);

  LiveSession& session_;
  LiveJobs& book_;
  Figures& figures_;
  const GpuReservations& reservations_;
  const AttemptTable& table_;
  Quotas& quotas_;
  std::set<std::pair<UnixTime, QueueId>> begins_;
  std::vector<Mail> mail_;
  struct Dependent {
    QueueId id, ended;
    JobStatus status;  // of the ended one
  };
  std::deque<Dependent> to_settle_;  // a loop, not a recursion: chains may be as long as the queue
  bool settling_ = false;
  int settled_ = 0;        // in this step
  bool released_ = false;  // by the start of another, after this step's decision
};

}  // namespace smartmig
