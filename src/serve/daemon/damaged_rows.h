// Rows of the store that a start cannot read. Each is moved to the store's table `damaged` and reported in the journal,
// and everything else continues. A job with a launched attempt is taken over from its launch record (reconcile.h), so
// that it keeps its processes and its slice; any other job fails, and its owner is told why. Thread rule: the owner's.
#pragma once
#include "serve/daemon/daemon_state.h"

namespace smartmig {

void note_damaged(DaemonState& state, DamagedRow row);

// After reconcile(): moves the rows of DaemonState::damaged_jobs aside, and ends the jobs that were not taken over.
void end_damaged(DaemonState& state);

}  // namespace smartmig
