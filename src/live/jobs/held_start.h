// A job whose processes start before its slice is free: the preload library holds each of them at its first CUDA call
// until the daemon puts a grant into the attempt's directory, with the variables that name the slice (docs/preload.md;
// the other side is preload/hold.c, the files are in grant_format.h). The job can write in that directory, so its
// contents count only for the job. Whether an attempt has its slice is recorded by the same file in its spool
// directory, which only the daemon can write. Thread rule: free functions without state.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "live/gpu/driver.h"
#include "live/jobs/job_spec.h"

namespace smartmig {

// An error says why its program would not be held: it is linked statically, or for another machine. Programs that this
// one starts are not looked at.
Result<Ok> can_be_held(const JobSpec& spec, std::uint32_t uid, std::uint32_t gid);

// For the start: where to wait, and a device that is none, so that what is not held finds no GPU of somebody else's.
// Without `hold`, the first CUDA call is recorded and no process waits.
Environment hold_environment(const std::string& directory, bool hold);

std::string grant_text(const Environment& slice);
// Records the instant of the grant that follows, by a clock that nobody sets. Call it before write_grant(), for the
// attempt's directory.
Result<Ok> note_grant_time(const std::string& directory);
// That instant by this process's time of day. Nothing: there is no grant.
std::optional<UnixTime> grant_time(const std::string& directory);
// The file appears complete and replaces an older one. kIo: this machine is short of something; kInvalid: the job has
// spoiled its directory.
Result<Ok> write_grant(const std::string& directory, std::string_view text);
// From the attempt's start to the first CUDA call of any of its processes; nothing: none has made one.
std::optional<Time> first_cuda_call(const std::string& directory);

}  // namespace smartmig
