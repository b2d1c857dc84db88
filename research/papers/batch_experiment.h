// Runs a batch of scripted jobs through the whole daemon: its store, lanes, meters, memory projection and restarts, on
// emulated GPUs and a virtual clock. All jobs are submitted at time 0; the run ends with the last of them. The same
// inputs give the same figures, to the last bit. Thread rule: one run at a time in a process (a process has one
// emulated machine).
#pragma once
#include <string>
#include <vector>

#include "research/papers/migm_batches.h"

namespace smartmig {

// What the daemon is told of a job in addition to its time on the whole GPU.
enum class JobsTold : std::uint8_t {
  kNothing,
  kIterations,  // its number of iterations, as an instrumented framework counts them: its time on one slice
  kProfiled,    // what `smartmig profile` would find: the kind of jobs that its tables have; for others, iterations
  kMemory       // as kProfiled, plus the memory that the job will need
};

struct BatchSetting {
  std::string gpus = "1xa100-40gb";
  std::string policy = "planner";
  JobsTold told = JobsTold::kNothing;
  std::string early = "projection";  // the setting oom.early
  double sample_s = 2;               // of memory and energy
};

struct BatchOutcome {
  int done = 0, failed = 0;
  double makespan_s = 0;
  double joules = 0;           // the boards' counters: watts by power model a100-jobs, in proportion to busy slices
  double joules_by_speed = 0;  // idle watts, plus for each job the whole GPU's watts in proportion to its speed
  std::uint64_t out_of_memory = 0, early = 0, operations = 0;  // restarts; slices made and destroyed
  double lost_s = 0;                                           // time of attempts that came to nothing
  double turnaround_s = 0;                                     // from submit to end, mean over jobs
  double memory_used = 0;                                      // jobs' share of all memory, mean over the makespan
  double idle_joules = 0;                                      // part of joules_by_speed
  int most_at_once = 0;
};

// A lost job is an error; failed ones are counted.
Result<BatchOutcome> run_batch(const std::vector<BatchJob>& jobs, const BatchSetting& setting);

}  // namespace smartmig
