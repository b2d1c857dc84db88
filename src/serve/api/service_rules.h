// Permissions on jobs and their visibility: shared by the parts of DaemonService. A command line may contain secrets,
// as a script may, so only the job's owner and the operator see it. Thread rule: shown_to on the owner's thread.
#pragma once
#include "queue/answers/service.h"
#include "serve/daemon/daemon.h"

namespace smartmig {

bool may_touch(const Caller& caller, const JobRecord& job);
Error not_yours(std::uint64_t id);
const char* cancelled_by(const Caller& caller, const JobRecord& job);  // in words
// The caller as submit takes it: as another user, where the operator asks for that.
Result<Caller> on_behalf_of(const Caller& caller, std::optional<std::uint32_t> owner);
// With its spec, where asked for and allowed.
nlohmann::json shown_to(const Caller& caller, const Daemon& daemon, const JobRecord& job, bool with_spec = false);

}  // namespace smartmig
