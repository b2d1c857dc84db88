// GPU memory of running jobs: what each holds, what it will need, and whether it should restart on a larger slice
// before it fails, by its memory, what it prints, its allocator and earlier runs of its command
// (memory/work_projection.h). After a failure: was it for want of memory, and how much is enough.
// It judges and leaves the doing to others. Thread rule: the owner's.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/jobs/runner.h"
#include "memory/size_memory.h"
#include "memory/work_projection.h"
#include "queue/job_record.h"
#include "queue/learning/work_log.h"

namespace smartmig {

// How a job's framework takes GPU memory (memory/size_memory.h), by the libraries its processes have loaded and by its
// environment.
// `libraries`: as /proc/PID/maps lists them. kUnknown: nothing of CUDA is among them.
AllocatorFamily allocator_of(std::string_view libraries, const std::vector<std::string>& environment);
// Of running processes, as far as they may be read.
AllocatorFamily allocator_of_processes(const std::vector<std::uint32_t>& pids);

enum class EarlyRestart : std::uint8_t {
  kProjection,  // where that is expected to cost less than going on
  kLine,        // where a straight line to its expected end passes the slice's memory, as in MIGM
  kOff          // never
};
// Of the setting oom.early. REQUIRES: one of "projection", "line", "off".
EarlyRestart early_restart_named(std::string_view name);

class MemoryWatch {
 public:
  using Earlier = std::function<std::vector<PastWork>(const JobRecord&)>;  // runs of its command, newest first
  explicit MemoryWatch(const JobRunner& runner, Earlier earlier = nullptr)
      : runner_(runner), earlier_(std::move(earlier)) {}

  // What a sample showed of a job's slice, and its own reports say. Raises job.memory.peak_mib and tensors_mib: returns
  // whether it did.
  bool saw(JobRecord& job, int used_mib);

  // What the projection is told of a sample: beside the device's figure what the job prints and reports.
  WorkSample sample(const JobRecord& job, int used_mib, double elapsed_s);

  struct Early {  // it should restart on a larger slice, without waiting for the failure
    int needs_mib = 0;
    std::string words;
  };
  // `limit_mib`: of its slice; `largest_mib`: of the fleet's largest; `total_s`: its expected run time, 0: unknown.
  // `pids`: its processes on the GPU, which tell its allocator.
  std::optional<Early> project(const JobRecord& job, int used_mib, double elapsed_s, double total_s, int limit_mib,
                               int largest_mib, EarlyRestart how = EarlyRestart::kProjection,
                               const std::vector<std::uint32_t>& pids = {});
  // What this attempt, which has ended well on a slice of so much, says of the next run. Nothing: it was hardly seen.
  std::optional<PastWork> past_of(const JobRecord& job, int limit_mib) const;

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
  // Its highest use by its own reports, where it makes them; raises job.memory.peak_mib and tensors_mib.
  void attempt_ended(JobRecord& job) const;
  void forget(QueueId id);

 private:
  std::optional<JobMemory> reports_of(const JobRecord& job) const;

  const JobRunner& runner_;
  struct Watched {
    WorkProjection work;
    MemoryProjection line;
    WorkLog log;
    std::int64_t peak_bytes = 0;
    int tensors_mib = -1;
    bool allocator_known = false;
  };
  Watched& watched(const JobRecord& job);
  Earlier earlier_;
  std::map<QueueId, Watched> watched_;
  std::map<QueueId, int> contexts_mib_;  // held beside their requests, of those that report
};

}  // namespace smartmig
