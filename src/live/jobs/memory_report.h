// The reports of a job's processes on CUDA memory requests and tensor memory: the records that libsmartmig-preload.so
// and the hook in Python keep in the job's directory SMARTMIG_MEMORY_DIR (live/jobs/memory_record.h, docs/preload.md).
// The job writes them, so smartmig plans with them but never trusts them. They are read without mapping (the job may
// shorten a file at any moment), only regular files of exactly the right size, amounts held below 64 TiB, at most
// kMemoryReportsAtMost files. Other files are ignored. Amounts are bytes of what was asked for: the CUDA context and
// the driver's rounding come on top. Thread rule: free functions without state.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smartmig {

inline constexpr int kMemoryReportsAtMost = 4096;

struct ProcessMemory {
  bool tensors = false;            // as its framework counts them: requests and failures are not told
  int pid = 0;                     // as the process sees itself
  bool running = true;             // false: it ended, or its pid belongs to another process; true if unknown
  bool exited = false;             // left through exit(), holding nothing of interest
  std::int64_t now_bytes = 0;      // requested and not given back; of one that was killed: what it held then
  std::int64_t peak_bytes = 0;     // at least now_bytes
  std::int64_t managed_bytes = 0;  // part of now_bytes that may lie on the host
  std::int64_t allocations = 0, frees = 0;
  std::int64_t failures = 0;      // requests refused for want of memory; 0: the next three mean nothing
  std::int64_t failed_bytes = 0;  // size of the last one
  std::int64_t held_at_failure = 0;
  bool went_on = false;        // allocations succeeded after the last failure: the program coped with it
  std::int64_t untracked = 0;  // requests that found no room in the process's own books
  std::uint64_t pid_namespace = 0, begun_ns = 0, start_ticks = 0;
};

// One record as it is in a file; nullopt: none, or of another version. `running` is left true unless it says it ended.
std::optional<ProcessMemory> parse_memory_record(std::string_view bytes);

// Every process of the directory: requests, then tensors; by pid, then by when it began. No directory: nothing.
// `owner`: files of anybody else are passed over.
std::vector<ProcessMemory> read_memory_reports(const std::string& directory,
                                               std::optional<std::uint32_t> owner = std::nullopt);

struct JobMemory {
  int processes = 0;            // that have asked for memory; 0: the next four mean nothing
  std::int64_t now_bytes = 0;   // of those running
  std::int64_t peak_bytes = 0;  // a lower bound: the largest single peak, or what all hold now where that is more
  std::int64_t failures = 0;
  // What the job would have held had its failed request succeeded: the largest over its processes whose last failure
  // was not followed by a success, with what the others held. 0: no such failure.
  std::int64_t needed_bytes = 0;
  std::int64_t tensors_bytes = -1;       // held by tensors of those running; -1: no framework tells
  std::int64_t tensors_peak_bytes = -1;  // a lower bound, as peak_bytes
};
JobMemory sum_memory(const std::vector<ProcessMemory>& processes);

}  // namespace smartmig
