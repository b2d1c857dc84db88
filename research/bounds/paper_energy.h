// The energy bound of the SMART-MIG paper. Jobs are linearised, p = p[1] / 7, as if any number of slices worked on one
// job without loss. Then every unit of work costs at least a full GPU's draw for it, and all boards idle until the
// least preemptive makespan C*:
//   E >= P7 * sum p + P0 * (m C* - sum p)
// Checked premises: one GPU model with a power table on or above the chord from P0 to P7; no job faster on k slices
// than k times its speed on one (superlinear); every job has a time on one slice.
#pragma once
#include "model/job_table.h"

namespace smartmig {

Result<double> paper_energy_bound_joules(const Platform& platform, const JobTable& jobs);

}  // namespace smartmig
