// A daemon that starts compares what its records call running with what runs. Jobs that are alive enter the belief
// where they are; those that ended meanwhile are told as ended by the first step; those that never began wait again; a
// job whose GPU failed meanwhile is stopped. Held jobs, and those whose processes are ahead of their slices, look again at
// what they wait for.
#pragma once
#include "serve/attempts/attempt_ends.h"
#include "serve/attempts/suspensions.h"
#include "serve/daemon/daemon_state.h"

namespace smartmig {

Result<Ok> find_running(JobRunner& runner, DaemonState& state, Attempts& attempts, AttemptEnds& ends,
                        Suspensions& suspensions, JobTransitions& transitions);

}  // namespace smartmig
