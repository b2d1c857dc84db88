// Rows of the store that a start cannot read. Each is kept in the store's table `damaged`, told of in the journal, and the
// rest goes on. A job of which an attempt was launched is taken over from what was written down then (reconcile.h), so that
// its processes and its slice stay its own; any other has failed, and its owner is told so. Thread rule: the owner's.
#pragma once
#include "serve/daemon/daemon_state.h"

namespace smartmig {

void note_damaged(DaemonState& state, DamagedRow row);

// After reconcile(): puts aside the rows of DaemonState::damaged_jobs, and ends the jobs that nobody took over.
void end_damaged(DaemonState& state);

}  // namespace smartmig
