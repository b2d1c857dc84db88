// Requests of users: submit, cancel, requeue; hold, release, suspend and the like (job_orders.cc). DaemonService has
// already decided whether the user may make the request; this part decides whether it is possible. Thread rule: the
// owner's.
#pragma once
#include "queue/answers/service.h"
#include "queue/jobs/gpu_reservations.h"
#include "queue/jobs/job_groups.h"
#include "queue/learning/estimates.h"
#include "serve/attempts/attempts.h"
#include "serve/attempts/suspensions.h"
#include "serve/daemon/unfolding.h"

namespace smartmig {

class JobRequests {
 public:
  JobRequests(const Settings& settings, const JobRunner& runner, LiveSession& session, LiveJobs& book,
              const AttemptTable& table, Attempts& attempts, Estimates& estimates, Suspensions& suspensions,
              const JobGroups& groups, Quotas& quotas, const GpuReservations& reservations, JobTransitions& transitions,
              Figures& figures)
      : settings_(settings),
        runner_(runner),
        session_(session),
        book_(book),
        table_(table),
        attempts_(attempts),
        estimates_(estimates),
        suspensions_(suspensions),
        groups_(groups),
        quotas_(quotas),
        reservations_(reservations),
        transitions_(transitions),
        counts_(figures.counts) {}

  // All of them or none. Their numbers; `warnings` grows by what their owner should know. `not_held`: of each spec why it
  // cannot start before its slice is free (JobRunner::Looks); empty: it can.
  Result<std::vector<QueueId>> submit(const Caller& caller, std::vector<JobSpec> specs,
                                      std::vector<std::string>& warnings,
                                      const std::vector<std::string>& not_held = {});
  // The next tasks of large arrays enter the queue.
  void unfold();
  Unfolding& unfolding() { return unfolding_; }
  const Unfolding& unfolding() const { return unfolding_; }
  void unaccepted(const JobRecord& job) { unfolding_.forget(job.array.id); }
  Result<Ok> cancel(QueueId id, const std::string& why);
  // One that runs is stopped and waits again; one that has ended comes back under its number, with a new attempt.
  Result<Ok> requeue(QueueId id, bool by_operator = true);

  // `by_operator`: not by its owner.
  Result<Ok> hold(QueueId id, bool by_operator);     // a waiting one waits until it is released
  Result<Ok> release(QueueId id, bool by_operator);  // a hold of the operator's is the operator's to release
  Result<Ok> to_front(QueueId id);                   // a priority above that of all others that wait
  Result<Ok> suspend(QueueId id);                    // a running one; it keeps its slice
  Result<Ok> resume(QueueId id);
  // Keys as of a spec: deadline, priority, memory, time limit, estimate, begin; null takes one back.
  Result<Ok> update(QueueId id, const nlohmann::json& changes, bool by_operator);

  JobRecord as_record(const Caller& caller, JobSpec spec);  // as submit would take it

 private:
  Result<Ok> room_in_store(const std::vector<JobSpec>& specs, std::uint32_t uid) const;
  Result<Ok> room_for(std::size_t tasks, std::uint32_t uid, bool by_operator) const;
  Result<Ok> acceptable(const Caller& caller, const JobSpec& spec, const std::string& not_held,
                        std::vector<std::string>& warnings) const;
  Result<Ok> bring_back(QueueId id, bool by_operator);
  // In the queue now, or as a large array its first tasks; `ids` grows by the numbers of all.
  void enter(JobRecord base, const std::vector<int>& tasks, std::vector<QueueId>& ids);
  void note_refusal(const JobRecord& job);
  void present_anew(JobRecord& job);

  const Settings& settings_;
  const JobRunner& runner_;
  LiveSession& session_;
  LiveJobs& book_;
  Unfolding unfolding_{book_};
  const AttemptTable& table_;
  Attempts& attempts_;
  Estimates& estimates_;
  Suspensions& suspensions_;
  const JobGroups& groups_;
  Quotas& quotas_;
  const GpuReservations& reservations_;
  JobTransitions& transitions_;
  Counts& counts_;
};

}  // namespace smartmig
