// JobRunner: the seam that turns an admitted job into processes. Implementations: supervised processes (the real one),
// in-process timers (emulation without processes). Rule of exactly-once: an attempt begins with the exclusive creation
// of its record; an attempt without a record never ran and may be started. Thread rule: every method on the owner's
// thread; news of beginnings and exits may come from any thread through `on_exit`.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "live/gpu/driver.h"
#include "live/jobs/job_spec.h"
#include "live/jobs/memory_report.h"

namespace smartmig {

struct AttemptId {
  std::uint64_t job = 0;
  int attempt = 0;  // from 1
  auto operator<=>(const AttemptId&) const = default;
};

// Why an attempt is or was told to stop; it determines what the exit means for the job. Numbers are stored.
enum class StopReason : std::uint8_t {
  kNone = 0,
  kCancel = 1,
  kRequeue = 2,
  kPreempt = 3,
  kGpuFailed = 5,
  kLarger = 6
};

// Which task of which array a job is, and of the whole array: tasks, least and largest number, their distance.
struct ArrayTask {
  std::uint64_t array = 0;  // 0: of none
  int index = 0, count = 0, first = 0, last = 0, step = 1;
};

// Everything a supervisor needs; nothing here is read again from a place that a user can write.
struct Launch {
  AttemptId id;
  JobSpec spec;
  std::uint64_t shared = 0;  // all with this number have the same environment and script; 0: nobody else has these
  std::uint32_t uid = 0, gid = 0;
  std::string user, home;
  ArrayTask task;
  Environment slice;                      // from MigDriver::environment, and SMARTMIG_* / SLURM_* variables
  std::string device;                     // UUID of the slice
  std::vector<std::string> device_nodes;  // what the job may open, where a device cgroup can say so
  double cpus = 0;                        // 0: no limit
  int host_mem_mib = 0;                   // 0: no limit
  std::string emulated_kind;              // not empty: register the job on its emulated slice as busy, of this kind
  Time predicted{};                       // run time expected; what an in-process runner takes
  double remaining = 1;                   // share of the job's work that is left, as of its last checkpoint
  bool new_privileges = false;            // setuid programs work, as newuidmap of a rootless container must
  bool hold = false;       // before its slice is free: no slice yet, and it waits at its first CUDA call for grant()
  bool tell_cuda = false;  // its first CUDA call is written down (first_cuda_call), where the library is there
};

// The part of the launch that is stored next to the attempt's record.
struct AttemptOrigin {
  JobSpec spec;
  std::uint32_t uid = 0, gid = 0;
  std::string user, device;
  bool held = false;  // it began before it had a slice
  ArrayTask task;
};

struct AttemptExit {
  AttemptId id;
  int code = -1;   // exit code, -1 when killed by a signal
  int signal = 0;  // that killed it
  UnixTime started{}, ended{};
  std::optional<Time> ran, ended_steady;  // by CLOCK_BOOTTIME; ended_steady: of this boot
  bool host_oom = false;                  // the kernel killed it for host memory
  bool gpu_oom = false;         // known to have run out of its slice's memory; false: its log may still say so
  bool timed_out = false;       // its time limit passed; the supervisor stopped it
  bool never_started = false;   // its command never ran; `words` says why
  bool short_of_means = false;  // for want of a process or a descriptor
  StopReason ordered = StopReason::kNone;  // what its supervisor was told, whoever remembers it
  bool unasked = false;  // its supervisor tells that nobody had told it to stop when the command ended
  int peak_host_mib = -1;
  std::string words;
};

class JobRunner {
 public:
  virtual ~JobRunner() = default;
  // Returns once the attempt's record exists. kBusy: that attempt has a record already (it was started before). Other
  // errors: nothing was started, and the sentence says what to do.
  virtual Result<Ok> start(const Launch& launch) = 0;
  // The same without waiting for the machine: nothing means that the answer will be in begun(). Until it was taken from
  // there, the attempt counts as alive on its slice, a stop is kept for it, and its exit is not told.
  virtual std::optional<Result<Ok>> begin(const Launch& launch) { return start(launch); }
  virtual bool begins_at_once() const { return true; }  // false: the next begin() would wait for others
  struct Begun {
    AttemptId id;
    Result<Ok> result;  // of start()
    Time at_steady{};   // CLOCK_BOOTTIME
  };
  virtual std::vector<Begun> begun() { return {}; }  // since the last call; ask before poll()
  // Asked before a job is accepted, on any thread: they look at paths of the user's, which may take for ever, so they hold
  // all that they need and may outlive the runner.
  struct Looks {
    using Look = std::function<Result<Ok>(const JobSpec&, std::uint32_t uid, std::uint32_t gid)>;
    Look can_reach;  // kNoPermission: this user can never start its program
    // A job with Launch::hold can be started; an error says why this one cannot, and of files only what its user may see.
    Look can_hold;
  };
  virtual Looks looks() const {
    return {[](const JobSpec&, std::uint32_t, std::uint32_t) -> Result<Ok> { return Ok{}; },
            [](const JobSpec&, std::uint32_t, std::uint32_t) -> Result<Ok> {
              return unsupported("jobs without processes have no CUDA call");
            }};
  }
  // An attempt that was started with Launch::hold gets its slice; its time limit counts from now. Asked twice it is the
  // same. kNotFound: it does not run, and its exit has been or will be told.
  virtual Result<Ok> grant(const Launch& launch) { return not_found("job {} is not held", launch.id.job); }
  virtual std::optional<UnixTime> granted(AttemptId) const { return std::nullopt; }  // when; nothing: it was not
  // From the attempt's start to the first CUDA call of its processes; nothing: none that is known.
  virtual std::optional<Time> first_cuda_call(AttemptId) const { return std::nullopt; }
  // Sends `first_signal` to the whole group, after `grace` kills it; the exit follows later. Unknown attempts are
  // errors. `why` is in the exit, so that a queue that was restored from before the order knows of it.
  virtual Result<Ok> stop(AttemptId id, int first_signal, Time grace, StopReason why) = 0;
  Result<Ok> stop(AttemptId id, int first_signal, Time grace) {
    return stop(id, first_signal, grace, StopReason::kNone);
  }
  // Suspends or resumes its processes; repeating the call changes nothing. The time limit does not count down.
  virtual Result<Ok> suspend(AttemptId id, bool on) = 0;
  // At the start of a daemon: attempts that have a record: those still running are adopted (their exits will follow),
  // those that ended meanwhile are in `ended`.
  struct Found {
    std::vector<AttemptId> running;
    std::vector<AttemptExit> ended;
  };
  virtual Result<Found> recover(const std::vector<AttemptId>& expected) = 0;
  // Exits since the last call.
  virtual std::vector<AttemptExit> poll() = 0;
  // When poll() will have something by itself (in-process runners).
  virtual UnixTime next_due() const { return kNeverUnix; }
  // What was written by an attempt; empty: no such attempt. The caller has checked who may read it.
  virtual std::string log_path(AttemptId id) const = 0;
  virtual void forget(std::uint64_t job) = 0;            // its ended attempts: records and logs may go
  virtual bool fences_devices() const { return false; }  // Launch::device_nodes is enforced
  // Jobs that ask for it (JobSpec::exact_memory) report their CUDA requests, and those in Python what their tensors hold.
  // An error says why none can. Whatever of it can be had is, and a job starts without what cannot.
  virtual Result<Ok> reports_memory() const { return unsupported("jobs without processes make no CUDA requests"); }
  virtual Result<Ok> reports_tensors() const { return unsupported("jobs without processes have no tensors"); }
  virtual std::optional<JobMemory> memory_of(AttemptId) const { return std::nullopt; }  // nothing: no reports
  virtual void forget_memory(AttemptId) {}                                              // once it has ended
  // Processor time of all processes of these attempts since they began; an attempt that cannot be seen is left out.
  virtual Result<Ok> measures_cpu() const { return unsupported("jobs without processes use no processor time"); }
  virtual std::map<AttemptId, Time> cpu_times(const std::vector<AttemptId>&) const { return {}; }
  // Attempts other than `mine` of which processes are alive that were given this slice, by what is seen of them on the
  // machine. One that cannot be judged at the moment counts as alive.
  virtual std::vector<AttemptId> others_on(const std::string& /*device*/, AttemptId /*mine*/) { return {}; }
  virtual std::optional<AttemptId> attempt_of_process(int /*pid*/) const { return std::nullopt; }  // nothing: unknown
  virtual std::vector<AttemptId> found_alive() const { return {}; }  // when it was opened, whoever knows of them
  // What it cannot do at the moment for want of something, in words, and will try again; empty: nothing.
  virtual std::string trouble() const { return {}; }
  // The last attempt of each job that `wanted` names and of which something is left here, whether it runs or has ended.
  struct Left {
    AttemptId id;
    std::optional<AttemptOrigin> origin;  // nothing: launched by a daemon that did not write it down
  };
  virtual std::vector<Left> left(const std::function<bool(std::uint64_t job)>& /*wanted*/) const { return {}; }
  // The largest job number of which something is left here: after an old store was restored, new jobs count from there.
  virtual std::uint64_t last_job() const { return 0; }
};

}  // namespace smartmig
