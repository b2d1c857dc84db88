// The living fleet at one moment as a fork for futures (eval/futures.h): the jobs that the policy sees, and as many of
// the others as come before a given one. Each has what keeps it from running: holds, its begin time and its
// reservation's, its dependencies, and the limits of its array and group. Called on the owner's thread; any thread may
// use the fork afterwards.
#pragma once
#include "eval/futures.h"
#include "queue/belief/live_session.h"
#include "queue/jobs/admission.h"
#include "queue/jobs/gpu_reservations.h"
#include "queue/jobs/job_groups.h"
#include "queue/jobs/live_jobs.h"
#include "queue/jobs/quotas.h"

namespace smartmig {

struct LiveFork {
  Fork fork;
  std::vector<QueueId> ids;  // the queue's number of fork.jobs[i]
  UnixTime origin{};         // of the fork's 0
  std::optional<EnergyPrices> prices;
  bool shared = false;  // several users or priorities wait: all have presented deadlines (admission.h)
};

struct ForkScope {
  // Of the jobs that the policy does not see: those with at most this number, no more than 2,000, and those after it as
  // long as there are no more than 500. kNoId: none.
  QueueId up_to = kNoId;
  QueueId released = kNoId;  // taken as if whoever holds it released it
};
struct ForkRules {  // null: of those that the policy sees nothing is asked of them
  const JobGroups* groups = nullptr;
  const GpuReservations* reservations = nullptr;
  const Quotas* quotas = nullptr;
  const Admission* admission = nullptr;
  int slices_in_service = 1;
};
LiveFork fork_of(const LiveSession& session, const LiveJobs& book, const Settings& settings, const ForkRules& rules,
                 const ForkScope& scope);
// Puts into one job of the fork what keeps this one from running.
void put_rules(Fork& fork, ForkJob& one, const JobRecord& job, const LiveJobs& book, const ForkRules& rules,
               UnixTime origin);

// A job that the policy does not see, as it would be shown to it but for its user's share.
Job job_in_fork(const JobRecord& job, const Belief& belief, double slack, bool shared);

}  // namespace smartmig
