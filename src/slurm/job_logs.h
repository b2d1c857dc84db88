// The path of the output of a Slurm batch job.
#pragma once
#include <string>
#include <vector>

#include "slurm/snapshot.h"

namespace smartmig {

// The files a batch job writes to, as sbatch names them: %A, %a, %j, %J, %N, %u, %x, with a width as in %4j; relative
// to its folder; slurm-%j.out by default. A name with another pattern is left out.
std::vector<std::string> log_paths(const SlurmJob& job);

}  // namespace smartmig
