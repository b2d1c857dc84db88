// The part of a job's launch that does not depend on a slice: its identity, its command, and the variables that
// describe it (docs/queue.md). Attempts and Prelaunches add the rest.
#pragma once
#include "queue/jobs/live_jobs.h"

namespace smartmig {

// Launch::slice holds the variables of the job itself; those of its slice only where it is on one. Environment and
// script are read from the store: kNotFound where they are not kept any more.
Result<Launch> launch_of_job(const JobRecord& job, LiveJobs& book);

}  // namespace smartmig
