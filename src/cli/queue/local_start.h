// Checks whether the directory and the program of a job exist on this machine. For jobs of a daemon on the same
// machine, so that a misspelt name is refused at submission and not at the start of the job.
#pragma once
#include <string>
#include <vector>

#include "live/jobs/job_spec.h"

namespace smartmig::cli {

// kInvalid: names what is missing. Where the job waits for others or for a time, it may be there by then: a note says
// so. What this user may not look at is no refusal.
Result<Ok> check_local_start(const JobSpec& spec, std::vector<std::string>& notes);

}  // namespace smartmig::cli
