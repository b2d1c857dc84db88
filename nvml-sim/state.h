// What an emulated machine is, as plain bytes in a file that several processes map. Two copies of State lie in the
// file: a change is made on the spare copy and becomes true by one store to Header::active, so a process killed at any
// instruction leaves the last whole state. The clock's slots stand outside the copies; each of their fields is one word
// and each word alone keeps them consistent. Instances are named by generation numbers that are never used twice.
// Units: microseconds of the machine's clock, microjoules, bytes. Everything here is read and written under
// Header::mutex, except the atomics.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace smartmig::nvsim {

inline constexpr int kMaxGpus = 32, kMaxInstances = 8, kMaxProcesses = 256, kMaxClients = 256, kMaxHolders = 32;
inline constexpr int kMaxFaults = 32, kMaxEvents = 64, kMaxSlots = 256;
inline constexpr std::uint64_t kForever = ~std::uint64_t(0), kUntilWoken = kForever - 1;

// A process, safe against reuse of its number.
struct Owner {
  std::int32_t pid = 0;  // 0: nobody
  std::uint32_t reserved = 0;
  std::uint64_t started = 0;  // field 22 of /proc/PID/stat
  bool operator==(const Owner&) const = default;
};

struct GpuInstance {
  std::uint64_t generation = 0;  // 0: a free entry
  std::uint32_t id = 0;
  std::int32_t profile = 0, start = 0;  // index in the model's profiles; first memory slice
  std::uint32_t reserved = 0;
  std::uint64_t in_use_until = 0;
};

struct ComputeInstance {
  std::uint64_t generation = 0;  // 0: a free entry
  std::uint64_t gpu_instance = 0;
  std::uint32_t id = 0, profile_id = 0, mig_index = 0;
  std::int32_t start = 0, slices = 0, sms = 0;
  std::uint64_t uuid[2] = {};
  std::uint64_t in_use_until = 0;
};

struct Gpu {
  char model[64] = {}, power[64] = {};
  std::uint64_t uuid[2] = {};
  std::uint32_t mig_current = 0, mig_pending = 0, lost = 0, limit_mw = 0, persistence = 1, compute_mode = 0;
  std::uint32_t last_id[4] = {};  // the GPU instance id given last, by size class: ids go round
  Owner changing;                 // who creates or destroys here now,
  std::int32_t changing_thread = 0;
  std::uint32_t reserved = 0;
  std::uint64_t changing_until = 0;  // and when it will be done
  std::uint64_t ecc_errors = 0;      // not corrected, since the machine was made
  double watts = 0;
  std::uint64_t energy_uj = 0, energy_at = 0;
  GpuInstance gpu_instances[kMaxInstances];
  ComputeInstance compute_instances[kMaxInstances];
};

struct Process {
  Owner owner;
  std::int32_t gpu = 0;
  std::uint32_t active = 1;
  std::uint64_t compute_instance = 0;  // 0: the whole board
  std::uint64_t memory = 0;
  std::uint32_t token = 0;  // 0: the process itself; else one of its stand-ins
  std::uint32_t stuck = 0;  // 1: the owner is dead and its memory stays
  char kind[64] = {};
};

struct Holder {
  Owner owner;
  std::int32_t gpu = 0;
  std::uint32_t reserved = 0;
  std::uint64_t gpu_instance = 0;  // 0: the whole board
};

struct Fault {
  std::uint32_t kind = 0;  // nvmlSimFaultKind_t; 0: a free entry
  std::int32_t gpu = -1;
  std::uint32_t count = 0, code = 0;
  std::uint64_t delay_us = 0;
  char call[64] = {};
};

struct Event {
  std::uint64_t sequence = 0, type = 0, data = 0;
  std::int32_t gpu = 0;
  std::uint32_t gpu_instance = 0, compute_instance = 0, reserved = 0;
};

struct State {
  std::uint64_t seed = 0, next_generation = 1, events_sent = 0, hangs_cleared = 0;
  std::int32_t gpu_count = 0;
  std::uint32_t reserved = 0;
  Gpu gpus[kMaxGpus];
  Process processes[kMaxProcesses];
  Owner clients[kMaxClients];  // processes between nvmlInit and nvmlShutdown
  Holder holders[kMaxHolders];
  Fault faults[kMaxFaults];
  Event events[kMaxEvents];  // a ring by sequence
};

// One thread on the virtual clock. pid is written last when a slot is taken and first when it is freed.
struct Slot {
  std::int32_t pid, thread, parent;
  std::uint32_t flags;
  std::uint64_t started;
  std::uint64_t wake;   // 0: runs, and holds the clock; kForever: blocked elsewhere; kUntilWoken: no time of its own
  std::uint32_t woken;  // its sleep, or the next one, is ended from outside
  std::uint32_t deaf;   // its present sleep cannot be ended so
  std::uint32_t bell;   // a futex, rung when it is set running: each sleeper has its own
  std::uint32_t reserved;
};

struct Header {
  char magic[16];
  std::uint32_t bytes;  // of the whole file: guards against another build's layout
  std::uint32_t clock_mode, require_root, reserved;
  char boot_id[40];  // the mutex of an earlier boot is worthless
  pthread_mutex_t mutex;
  std::atomic<std::uint32_t> active;  // which copy is true
  std::atomic<std::uint32_t> bell;    // a futex, rung after every change
  std::uint64_t epoch_us;             // host time at which the machine's clock was 0
  std::atomic<std::uint64_t> virtual_now;
  std::atomic<std::uint64_t> looked_for_dead_us;  // host time at which a sleeper last did so
  Slot slots[kMaxSlots];
};

struct Shared {
  Header header;
  State copies[2];
};

}  // namespace smartmig::nvsim
