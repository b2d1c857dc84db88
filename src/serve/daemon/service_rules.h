// Who may do what to a job, and what of it is shown to whom: shared by the parts of DaemonService. A command line may
// hold secrets as a script does: it is for the job's owner and the operator. Thread rule: shown_to on the owner's thread.
#pragma once
#include "serve/daemon/daemon.h"
#include "serve/http/service.h"

namespace smartmig {

bool may_touch(const Caller& caller, const JobRecord& job);
Error not_yours(std::uint64_t id);
const char* cancelled_by(const Caller& caller, const JobRecord& job);  // in words
// The caller as submit takes it: as another user, where the operator asks for that.
Result<Caller> on_behalf_of(const Caller& caller, std::optional<std::uint32_t> owner);
// With its spec, where asked for and allowed.
nlohmann::json shown_to(const Caller& caller, const Daemon& daemon, const JobRecord& job, bool with_spec = false);

}  // namespace smartmig
