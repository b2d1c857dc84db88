// GPU memory of running jobs: what each holds, what it will need, and whether it should restart on a larger slice
// before it fails (model/memory_projection.h). After a failure: was it for want of memory, and how much is enough.
// It judges and leaves the doing to others. Thread rule: the owner's.
#pragma once
#include <map>
#include <optional>

#include "live/jobs/runner.h"
#include "model/memory_projection.h"
#include "serve/daemon/job_record.h"

namespace smartmig {

enum class EarlyRestart : std::uint8_t {
  kProjection,  // where that is expected to cost less than going on
  kLine,        // where a straight line to its expected end passes the slice's memory, as in MIGM
  kOff          // never
};
// Of the setting oom.early. REQUIRES: one of "projection", "line", "off".
EarlyRestart early_restart_named(std::string_view name);

class MemoryWatch {
 public:
  explicit MemoryWatch(const JobRunner& runner) : runner_(runner) {}

  // What a sample showed of a job's slice. Raises job.memory.peak_mib: returns whether it did.
  bool saw(JobRecord& job, int used_mib);

  struct Early {  // it should restart on a larger slice, without waiting for the failure
    int needs_mib = 0;
    std::string words;
  };
  // `limit_mib`: of its slice; `largest_mib`: of the fleet's largest; `total_s`: its expected run time, 0: unknown.
  std::optional<Early> project(const JobRecord& job, int used_mib, double elapsed_s, double total_s, int limit_mib,
                               int largest_mib, EarlyRestart how = EarlyRestart::kProjection);

  struct Shortage {        // why an attempt failed for want of GPU memory
    int needed_mib = 0;    // at the least; 0: nothing tells
    bool certain = false;  // the job's own reports say it
    std::string words;
  };
  // An attempt ran out of its slice's memory if the runner knows it, if its last CUDA request was refused, if the end
  // of its log holds one of `patterns`, or if a signal ended it while its slice was full.
  std::optional<Shortage> shortage(const JobRecord& job, const AttemptExit& exit, int limit_mib,
                                   const std::vector<std::string>& patterns) const;
  // What it should have next: at least one size up, what it asked for, and where nothing tells that, what its growth
  // pointed to.
  int after_failure(const JobRecord& job, int had_mib, const Shortage& shortage, int largest_mib) const;
  // Its highest use by its own reports, where it makes them; raises job.memory.peak_mib.
  void attempt_ended(JobRecord& job) const;
  void forget(QueueId id);

 private:
  std::optional<JobMemory> requests_of(const JobRecord& job) const;

  const JobRunner& runner_;
  std::map<QueueId, MemoryProjection> projections_;
  std::map<QueueId, int> contexts_mib_;  // held beside their requests, of those that report
};

}  // namespace smartmig
