// The runner of real processes: each attempt has its own supervisor (supervisor/), which outlives this program. The
// daemon keeps one descriptor for each running attempt (a pidfd, for its own children and adopted supervisors alike)
// and one thread that waits for all of them. A supervisor is identified by the boot id, pid and start time of its
// record together. A start takes as long as the machine needs for a process and some writes to the disk, so begin()
// leaves it to threads of its own. Thread rule: as JobRunner; `on_exit` is called on the watching and starting threads.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "live/jobs/cgroup.h"
#include "live/jobs/container_command.h"
#include "live/jobs/reach.h"
#include "live/jobs/runner.h"
#include "live/jobs/spool.h"

namespace smartmig {

struct ProcessRunnerOptions {
  std::string spool;        // directory; made if it is not there
  std::string memory;       // directory for reports of CUDA requests, which every user may pass; empty: no reports
  std::string supervisor;   // program; empty: find_supervisor()
  std::string sim_library;  // libnvidia-ml.so.1 of nvml-sim; needed where Launch::emulated_kind is set
  std::string sim_state;    // its NVML_SIM_STATE
  std::uint64_t log_segment_bytes = 32u << 20;    // two of them are kept for each attempt
  std::uint64_t copy_bytes = 1u << 30;            // most of the copy that the owner asked for; 0: no limit
  int most_processes = 16384;                     // of one job, where a pids cgroup is offered; 0: no limit
  Time kill_patience = std::chrono::seconds(60);  // a supervisor's, with killed processes that do not die
  int starters = 4;                               // threads for begin(), which then does not wait; 0: it does
  bool use_cgroups = true;
  std::string cgroup_mounts;                    // in the form of /proc/self/mounts; empty: that file
  std::vector<std::string> extra_device_nodes;  // allowed besides the slice's own: "/dev/infiniband/uverbs0"
  std::string shims;                            // directory put before a job's PATH (srun); empty: none
  ContainerHost containers;                     // where devices of containers are named
  std::function<void()> on_exit;                // poll() has something new
};

class ProcessRunner : public JobRunner {
 public:
  static Result<std::unique_ptr<ProcessRunner>> open(ProcessRunnerOptions options);
  ~ProcessRunner() override;  // jobs go on
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  Result<Ok> start(const Launch& launch) override;
  std::optional<Result<Ok>> begin(const Launch& launch) override;
  bool begins_at_once() const override;
  std::vector<Begun> begun() override;
  Looks looks() const override;
  Result<Ok> grant(const Launch& launch) override;
  std::optional<UnixTime> granted(AttemptId id) const override;
  std::optional<Time> first_cuda_call(AttemptId id) const override;
  using JobRunner::stop;
  Result<Ok> stop(AttemptId id, int first_signal, Time grace, StopReason why) override;
  Result<Ok> suspend(AttemptId id, bool on) override;
  Result<Found> recover(const std::vector<AttemptId>& expected) override;
  std::vector<AttemptExit> poll() override;
  std::vector<Left> left(const std::function<bool(std::uint64_t job)>& wanted) const override;
  std::vector<AttemptId> others_on(const std::string& device, AttemptId mine) override;
  std::optional<AttemptId> attempt_of_process(int pid) const override;
  std::vector<AttemptId> found_alive() const override { return found_alive_; }
  std::string trouble() const override;
  std::string log_path(AttemptId id) const override;  // an older part is next to it, as log.1
  void forget(std::uint64_t job) override;

  Result<Ok> reports_memory() const override;
  Result<Ok> reports_tensors() const override;
  std::optional<JobMemory> memory_of(AttemptId id) const override;
  void forget_memory(AttemptId id) override;
  Result<Ok> measures_cpu() const override { return Ok{}; }
  std::map<AttemptId, Time> cpu_times(const std::vector<AttemptId>& attempts) const override;

  // "devices": a job opens its slice's nodes and no other GPU's. "cooperative": it is asked to by its environment.
  std::uint64_t last_job() const override;
  bool fences_devices() const override { return cgroups_.limits_devices(); }
  std::string isolation() const { return cgroups_.limits_devices() ? "devices" : "cooperative"; }
  std::string words() const { return cgroups_.words(); }
  std::vector<std::pair<std::string, std::string>> isolates() const { return cgroups_.isolates(); }
  std::size_t watched() const;

 private:
  struct Watched {
    AttemptId id;
    int pidfd = -1;
    bool child = false;
    bool orderly = false;  // its supervisor has ended, and nothing was left below it; known once it was reaped
  };
  struct Order {
    int first_signal = 0;
    Time grace{};
    StopReason why = StopReason::kNone;
  };
  struct Beginning {
    std::optional<Begun> told;   // not taken yet
    std::optional<Order> order;  // that came before it could be told to anybody
  };
  ProcessRunner(ProcessRunnerOptions options, Spool spool, Cgroups cgroups);
  Result<Ok> launch_supervisor(const Launch& launch);  // on any thread
  void start_loop();
  Result<Ok> check(const Launch& launch) const;
  Result<ContainerPlace> container_place(const Launch& launch) const;
  Result<int> launch_block(const Launch& launch, const std::string& directory) const;
  Result<Environment> preload_environment(const Launch& launch) const;
  CgroupLimits limits_of(const Launch& launch) const;
  std::string memory_directory(AttemptId id) const;
  Result<Ok> watch(AttemptId id, int pidfd, bool child);
  Result<Ok> send(const Watched& watched, const Order& order) const;  // REQUIRES: the lock
  void wake_watcher() const;
  void watch_loop();
  void has_ended(Watched watched);
  Result<AttemptExit> ending_of(const Watched& watched);
  void find_alive();
  void note_place(const std::string& device, AttemptId id);
  bool may_be_alive(AttemptId id, std::optional<AttemptRecord>& record) const;
  std::optional<AttemptId> attempt_of_token(std::string_view token) const;
  AttemptExit ending_of_abandoned(AttemptId id, const AttemptRecord& record);

  const ProcessRunnerOptions options_;
  const Spool spool_;
  const Cgroups cgroups_;
  int epoll_ = -1, wake_ = -1;
  std::atomic<bool> closing_{false};
  mutable std::mutex mutex_;  // guards what follows
  struct {
    std::uint64_t shared = 0;  // Launch::shared
    std::string directory;
  } noted_;  // whose launch was written down last
  std::deque<Launch> to_begin_;
  std::map<AttemptId, Beginning> beginning_;
  int starting_ = 0;  // threads that are
  std::condition_variable more_;
  std::map<AttemptId, Watched> watched_;
  std::map<std::uint64_t, AttemptId> keys_;  // epoll's data: a new number for each watch, so that no news is mistaken
  std::uint64_t next_key_ = 1;
  std::vector<AttemptExit> ended_;
  // Attempts that have ended, and how cannot be read at the moment (no descriptors, a disk that fails): that says nothing
  // of their jobs. They are read again until they can be.
  std::vector<Watched> unread_;
  std::string trouble_;                  // why
  std::vector<AttemptId> left_nothing_;  // ended with a supervisor that has waited for all processes below it
  // The owner's: which attempts were given which slice, until it is certain that nothing of them is alive.
  std::map<std::string, std::map<AttemptId, std::optional<AttemptRecord>>> placed_;
  std::vector<AttemptId> found_alive_;
  std::vector<std::thread> starters_;
  std::thread watcher_;
};

// SMARTMIG_SUPERVISOR, else next to this program, in supervisor/ next to it, in ../libexec/smartmig.
Result<std::string> find_supervisor();

// The directory of the programs that stand in for Slurm's: shims/ beside this program, or ../lib/smartmig/shims; empty:
// it is not there.
std::string find_shims();

// "%j" job, "%x" name, "%u" user, "%A" and "%a" of an array, "%t" attempt, "%%"; anything else stays as it is.
std::string expand_output(const std::string& pattern, const Launch& launch);
// Arguments and environment as the job gets them. The path of a script stands where the command says "{script}", else
// behind the interpreter of its "#!" line if the command begins with that, else at the end.
std::vector<std::string> arguments_of(const Launch& launch);
std::vector<std::string> environment_of(const Launch& launch, const std::string& sim_state, const std::string& token);

}  // namespace smartmig
