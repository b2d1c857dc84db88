// The living fleet at one moment as a fork for futures (eval/futures.h): the jobs that the policy sees, and of the
// others as many as come before a given one. Called on the owner's thread; the fork may then go to any.
#pragma once
#include "eval/futures.h"
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

// `up_to`: of the jobs that the policy does not see those with at most this number, and no more than 2,000.
LiveFork fork_of(const LiveSession& session, const JobBook& book, const Settings& settings, QueueId up_to);

// A job that the policy does not see, as it would be shown to it but for its user's share.
Job job_in_fork(const JobRecord& job, const Belief& belief, double slack, bool shared);

}  // namespace smartmig
