// A store may be older than what runs: a backup was restored. Before a daemon looks for what its records call running,
// every attempt that the runner has and the records do not know is brought into them, so that the rest of the recovery
// (recovery.h) finds it:
//   - a job that the records do not know is taken over under its number, as its attempt's origin says;
//   - one that they have waiting, ended or in an earlier attempt is given that attempt;
//   - one that waits for its slice at its first CUDA call (prelaunches.h) waits again, with its processes;
//   - one that the records have on another slice is put where it was started;
//   - one that runs next to a later attempt of its job is ended;
//   - one whose end the records and its supervisor know, and of which something is alive yet, is ended as a whole and told
//     nobody again: any process with its token looks like that;
//   - one of which nobody wrote down whose it is, or where it runs, is ended: else it would share its slice unseen.
// What has ended by now is then told as ended, with the exit that its supervisor wrote. Each is a line of the journal.
#pragma once
#include "serve/daemon/daemon_state.h"

namespace smartmig {

// `last_stored`: the largest number that the store knows. `restored`: also jobs that it has as ended are looked at,
// which takes as long as there are jobs in the spool.
Result<Ok> reconcile(JobRunner& runner, DaemonState& state, std::uint64_t last_stored, bool restored);

}  // namespace smartmig
