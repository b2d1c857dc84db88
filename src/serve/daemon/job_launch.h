// What a job's processes get that does not depend on a slice: who they are, their command, what they can know of
// themselves (docs/env.md). Attempts and Prelaunches add the rest.
#pragma once
#include "serve/daemon/job_book.h"

namespace smartmig {

// Launch::slice holds the variables of the job itself; those of its slice only where it is on one. Environment and script
// are read from the store: kNotFound where they are not kept any more.
Result<Launch> launch_of_job(const JobRecord& job, JobBook& book);

}  // namespace smartmig
