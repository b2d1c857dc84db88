// A job whose processes start before its slice is free: the preload library holds each of them at its first CUDA call
// until the daemon puts a grant into the attempt's directory, with the variables that name the slice (docs/preload.md;
// the other side is preload/hold.c, the files are in grant_format.h). That directory is the job's own to write, so what
// it says counts for the job alone; whether an attempt has its slice is told by the same file in its directory of the
// spool, which is the daemon's. Thread rule: free functions without state.
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
// Without `hold`: the first CUDA call is written down, and nobody waits.
Environment hold_environment(const std::string& directory, bool hold);

std::string grant_text(const Environment& slice);
std::optional<UnixTime> grant_time(const std::string& directory);  // nothing: there is none
// Appears whole, in place of what is there under its name. kIo: this machine is short of something; kInvalid: the job has
// spoiled its directory.
Result<Ok> write_grant(const std::string& directory, std::string_view text);
// From the attempt's start to the first CUDA call of any of its processes; nothing: none has made one.
std::optional<Time> first_cuda_call(const std::string& directory);

}  // namespace smartmig
