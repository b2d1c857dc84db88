// The record of a process's CUDA memory requests: one file of this record in SMARTMIG_MEMORY_DIR, named
// PID-NANOSECONDS.mem, mapped and written by libsmartmig-preload.so (preload/), read by live/jobs/memory_report.h. The
// same record with another magic, named PID-NANOSECONDS.held, is what the process's framework says its tensors hold:
// its words up to `peak`, written whole by preload/python/smartmig_held.py. C and C++. Words of 64 bits in the byte
// order of the machine; amounts are bytes as the program asked for them. `sequence` is odd while the rest is being
// written. A process that execs begins a new file: of one pid the record begun last counts.
#pragma once
#include <stdint.h>

#define SMARTMIG_MEMORY_MAGIC UINT64_C(0x314d454d47494d53)  // "SMIGMEM1"
#define SMARTMIG_HELD_MAGIC UINT64_C(0x31444c4847494d53)    // "SMIGHLD1"
#define SMARTMIG_MEMORY_VERSION 1

struct SmartmigMemoryRecord {
  uint64_t magic;
  uint64_t version;
  uint64_t sequence;
  uint64_t pid;            // in its own pid namespace
  uint64_t pid_namespace;  // the kernel's number of it; 0: unknown
  uint64_t start_ticks;    // of the process, as in /proc/PID/stat; 0: unknown
  uint64_t begun_ns;       // CLOCK_BOOTTIME at the first request
  uint64_t ended;          // 1: the process left through exit()
  uint64_t now;            // requested and not given back
  uint64_t peak;           // most of it at once
  uint64_t managed;        // the part of `now` that is managed memory, which may lie on the host
  uint64_t allocations;    // requests that succeeded
  uint64_t frees;
  uint64_t failures;                // requests refused for want of memory
  uint64_t failed_request;          // the last of them
  uint64_t held_at_failure;         // `now` at that moment
  uint64_t allocations_at_failure;  // `allocations` at that moment: more by now means that the program went on
  uint64_t untracked;               // requests counted nowhere above, because no memory was left to remember them
  uint64_t spare[14];
};
