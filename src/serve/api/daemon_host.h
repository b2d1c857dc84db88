// A daemon with everything that it needs, opened from a configuration: the GPUs (real, soft slices by MPS, or
// emulated), the store, the runner of jobs, the owner of the queue and its service. `smartmig serve` puts a socket in
// front of it; tests and benchmarks use it without one. Thread rule: open() and run() on one thread, the owner's.
#pragma once
#include <memory>

#include "live/emulation/emulated_machine.h"
#include "live/gpu/controller_lock.h"
#include "queue/config/settings_file.h"
#include "serve/api/daemon_service.h"
#include "serve/attempts/job_mapping.h"

namespace smartmig {

struct DaemonHostOptions {
  Settings settings;
  std::string version = "0";
  std::string nvml;            // library of the real driver; empty: the system's
  std::string like;            // mps: the catalogue model to imitate
  bool adopt = false;          // take over slices that somebody else made
  bool new_queue = false;      // begin one although the spool holds jobs and the store is gone
  std::string clock = "real";  // of an emulated machine: real, zero, virtual
  bool in_process = false;     // emulated jobs end when predicted, without processes
  std::uint64_t emulation_seed = 0;
  bool decide_each_arrival = false;  // see DaemonPace
  std::optional<Time> tick, advice;  // see DaemonPace; no tick by default on a virtual clock
  std::function<std::shared_ptr<LiveClock>(std::shared_ptr<LiveClock>)> wrap_clock;  // for tests; empty: as it is
  std::function<Result<Settings>()> reread;  // of the configuration file; empty: there is none
};

// What the GPUs are opened with.
struct GpuAccessOptions;
GpuAccessOptions gpu_access_of(const DaemonHostOptions& options, const std::string& state_dir);

class DaemonHost {
 public:
  static Result<std::unique_ptr<DaemonHost>> open(DaemonHostOptions options);
  ~DaemonHost();

  Daemon& daemon() { return *daemon_; }
  DaemonService& service() { return *service_; }
  Store& store() { return *store_; }
  const std::string& state_dir() const { return state_dir_; }
  LiveClock& clock() { return *clock_; }
  bool emulated() const { return bool(machine_); }
  const EmulatedMachine* machine() const { return machine_.get(); }
  std::string gpus() const;  // "8 x a100-40gb (emulated)"

 private:
  explicit DaemonHost(DaemonHostOptions options) : options_(std::move(options)) {}
  Result<Ok> open_driver();
  Result<Ok> open_runner();
  Settings effective(Settings settings) const;  // with this machine's cores and memory for "auto"
  DaemonPace pace() const;

  DaemonHostOptions options_;
  std::string state_dir_;
  ControllerLock lock_;
  std::unique_ptr<EmulatedMachine> machine_;
  std::shared_ptr<LiveClock> clock_;
  std::shared_ptr<MigDriver> driver_;
  std::unique_ptr<Reshaper> reshaper_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<JobRunner> runner_;
  std::string isolation_ = "cooperative";
  std::vector<std::pair<std::string, std::string>> isolates_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<DaemonService> service_;
  std::shared_ptr<std::atomic<Daemon*>> to_wake_ = std::make_shared<std::atomic<Daemon*>>(nullptr);
};

}  // namespace smartmig
