// The jobs of one run, sorted by (submit, position in their source), reproducible from a generator spec and seed or
// from a file. `rules` says in words what was assumed while reading, and is written to the run directory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace smartmig {

struct Workload {
  std::string source;                       // spec string or file name
  std::string reference_gpu = "a100-40gb";  // the model that Job::work holds for
  std::vector<Job> jobs;
  std::vector<std::string> names;  // external ids, parallel to jobs; empty: the index is the name
  std::vector<std::string> kinds;
  std::vector<std::string> rules;
  std::uint64_t seed = 0;  // of the generator; 0 for files
  bool generated = false;
  double days = 1;  // span that a belongs to: a_eff = a * 8 / (gpus * days)

  std::string name_of(std::size_t job) const { return names.empty() ? std::to_string(job) : names[job]; }
  std::string kind_of(const Job& job) const { return job.kind < 0 ? std::string() : kinds[std::size_t(job.kind)]; }
  int add_kind(const std::string& kind);  // index of the kind, added if new
};

// Sorts by submit, stably, keeping names parallel.
void sort_by_submit(Workload& workload);

// What every reader and generator must deliver: sorted, submit >= 0, some size runs, times within range.
// Names the job that breaks a rule.
Result<Ok> validate(const Workload& workload);

// A stable fingerprint of everything a simulation depends on.
std::uint64_t hash_of(const Workload& workload);

}  // namespace smartmig
