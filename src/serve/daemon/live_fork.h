// The living fleet at one moment as a fork for futures (eval/futures.h): the jobs that the policy sees, and of the
// others as many as come before a given one, with what keeps each from running: who holds it, its begin and its
// reservation's, what it depends on, the limits of its array and group. Called on the owner's thread; the fork may then
// go to any.
#pragma once
#include "eval/futures.h"
#include "serve/daemon/daemon_state.h"
#include "serve/daemon/job_book.h"
#include "serve/daemon/live_session.h"

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
};
LiveFork fork_of(const LiveSession& session, const JobBook& book, const Settings& settings, const ForkRules& rules,
                 const ForkScope& scope);
LiveFork fork_of(DaemonState& state, const ForkScope& scope);
// Puts into one job of the fork what keeps this one from running.
void put_rules(Fork& fork, ForkJob& one, const JobRecord& job, const JobBook& book, const ForkRules& rules,
               UnixTime origin);

// A job that the policy does not see, as it would be shown to it but for its user's share.
Job job_in_fork(const JobRecord& job, const Belief& belief, double slack, bool shared);

}  // namespace smartmig
