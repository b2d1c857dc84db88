// The jobs of one run, sorted by (submit, position in their source). Reproducible from a generator spec and seed or
// from a file. `rules` states in words what the reader assumed; the run directory contains it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace smartmig {

struct Workload {
  std::string source;                       // generator spec or file name
  std::string reference_gpu = "a100-40gb";  // the model to which Job::work refers
  std::vector<Job> jobs;
  std::vector<std::string> names;  // external ids, parallel to jobs; empty: the index serves as the name
  std::vector<std::string> kinds;
  std::vector<std::string> rules;
  std::uint64_t seed = 0;  // the generator's; 0 for files
  bool generated = false;
  double days = 1;  // the span that a refers to: a_eff = a * 8 / (gpus * days)

  std::string name_of(std::size_t job) const { return names.empty() ? std::to_string(job) : names[job]; }
  std::string kind_of(const Job& job) const { return job.kind < 0 ? std::string() : kinds[std::size_t(job.kind)]; }
  int add_kind(const std::string& kind);  // index of the kind; adds it if new
};

// Sorts by submit, stably, and keeps names parallel.
void sort_by_submit(Workload& workload);

// What every reader and generator must deliver: jobs sorted, submit >= 0, at least one size runs, times within range.
// The error names the job that breaks a rule.
Result<Ok> validate(const Workload& workload);

// A stable fingerprint of everything a simulation depends on.
std::uint64_t hash_of(const Workload& workload);

}  // namespace smartmig
