#include "serve/api/service_rules.h"

#include <pwd.h>

#include "base/users.h"
#include "queue/jobs/job_json.h"

namespace smartmig {

bool may_touch(const Caller& caller, const JobRecord& job) {
  return caller.operator_rights || caller.uid == job.owner.uid;
}

Error not_yours(std::uint64_t id) {
  return no_permission("job {} belongs to another user; only its owner and root may do that", id);
}

Result<Caller> on_behalf_of(const Caller& caller, std::optional<std::uint32_t> owner) {
  if (!owner || *owner == caller.uid) return caller;
  if (!caller.operator_rights)
    return no_permission("only the operator (root or the daemon's user) may submit for {}", user_name(*owner));
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(*owner, &entry, buffer, sizeof buffer, &found) != 0 || !found)
    return not_found("this machine has no user {}", *owner);
  Caller other = caller;
  other.uid = *owner;
  other.gid = found->pw_gid;
  return other;
}

const char* cancelled_by(const Caller& caller, const JobRecord& job) {
  return caller.uid == job.owner.uid ? "cancelled by its owner" : "cancelled by the operator";
}

nlohmann::json shown_to(const Caller& caller, const Daemon& daemon, const JobRecord& job, bool with_spec) {
  JobShown how;
  how.now = daemon.now();
  if (!job.suspended) how.expected = daemon.state().session.expected_finish(job.id);
  how.cost = cost_of(job, daemon.state().settings.priced(), how.now, how.expected);
  how.with_command = may_touch(caller, job);
  how.with_spec = with_spec && how.with_command;
  return to_json(job, how);
}

}  // namespace smartmig
