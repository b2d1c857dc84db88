// Follows a job: prints its log as it grows, across restarts of the job and the daemon, until the job has ended.
#pragma once
#include <cstdio>

#include "cli/queue/daemon_options.h"

namespace smartmig::cli {

// Writes the log to `out` while it grows and returns the final job.
Result<Json> follow_job(DaemonClient& client, std::uint64_t id, std::FILE* out);
// Asks until every one of `ids` is final or `timeout_s` is over (negative: never); calls `ended` once for each.
Result<bool> wait_for(DaemonClient& client, const std::vector<std::uint64_t>& ids, double timeout_s,
                      const std::function<void(const Json&)>& ended);
// Asks once more and again while the daemon cannot be reached, for half a minute: it may be restarting.
Result<Json> patient_get(DaemonClient& client, const std::string& path);
void pause_s(double seconds);

}  // namespace smartmig::cli
