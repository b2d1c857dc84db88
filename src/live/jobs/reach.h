// Can a user enter a job's directory and execute its program? Checked when a job is submitted, so that its owner does
// not wait for hours to read "permission denied". The kernel is asked with the user's own rights (on a thread that
// takes their file system identity), so that groups and access lists count. A program that does not exist yet is not
// refused: it may exist by then.
#pragma once
#include <functional>

#include "live/jobs/job_spec.h"

namespace smartmig {

inline constexpr int kMostPlaces = 1'000;
std::string_view search_path(const JobSpec& spec);  // its PATH, else the usual one

// kNoPermission: no; the sentence names the path that cannot be entered and what to do.
// It looks at kMostPlaces of its PATH at most. The look may take for ever where a file system does not answer.
Result<Ok> can_reach_program(const JobSpec& spec, std::uint32_t uid, std::uint32_t gid);

// Calls `look` on a thread that sees files as this user does; not at all where those rights cannot be taken. An error:
// there is no thread.
Result<Ok> with_rights_of(std::uint32_t uid, std::uint32_t gid, const std::function<void()>& look);

}  // namespace smartmig
