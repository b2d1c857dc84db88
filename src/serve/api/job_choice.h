// The jobs that a request selects: by number, as the tasks of an array, or by owner, name and state. Without numbers
// and an array, they are the caller's own jobs, unless the operator names a user or everyone. Only active jobs are
// selected, unless the request names a final state: then they come from the store and may be limited to jobs that ended
// since an instant.
#pragma once
#include <optional>
#include <set>

#include "queue/answers/service.h"
#include "serve/daemon/daemon.h"

namespace smartmig {

struct JobChoice {
  std::vector<std::uint64_t> ids;
  std::uint64_t array = 0;
  bool filtered = false;             // by what follows
  std::optional<std::uint32_t> uid;  // nothing: everyone's
  std::string name, state;           // empty: any
  UnixTime since{};                  // of ends
};
Result<JobChoice> read_job_choice(const Caller& caller, const nlohmann::json& body,
                                  const std::vector<std::string>& more_keys);
// Adds the numbers of ended jobs that it means. Any thread.
Result<Ok> find_ended(JobChoice& choice, Store& store);

// Some of the jobs that it means may be tasks of an array of which `tasks` are still entering the queue (unfolding.h);
// `next` is the first of them.
bool means_entering(const JobChoice& choice, const JobRecord& next, std::size_t tasks);

// The highest number first: who depends on another of them is cancelled before that one, and so by request. On the
// owner's thread.
std::vector<QueueId> chosen_jobs(const JobChoice& choice, const Daemon& daemon);

}  // namespace smartmig
