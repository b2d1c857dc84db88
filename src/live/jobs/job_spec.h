// A job as its owner submits it: an ordinary command with information for the scheduler. Everything except the command
// is optional. Immutable once accepted; queue/job_record.h holds what happens to it. As JSON it is what `smartmig
// submit` sends and what the store keeps (docs/queue.md); job_fields.h has the table of its fields. Units: memory in MiB; in JSON, durations and
// instants (Unix time) in seconds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace smartmig {

struct Dependency {
  // kAfter: once it has started, or ended without that.
  enum When : std::uint8_t { kAfterOk, kAfterAny, kAfterNotOk, kAfter } when = kAfterOk;
  std::uint64_t job = 0;
};

enum class MailEvent : std::uint8_t { kBegin, kEnd, kFail, kRequeue, kTimeLimit };
const char* name_of(MailEvent event);  // "begin", "end", "fail", "requeue", "time_limit"

struct JobSpec {
  std::vector<std::string> command;           // argv; never empty
  std::string script;                         // text of a script; command is then its interpreter's name and arguments
  std::string directory;                      // working directory, absolute
  std::vector<std::string> environment;       // "NAME=value", as at submit
  std::string name;                           // empty: from the command
  std::string output;                         // where the owner wants a copy of the log: "%j.out"; empty: none
  std::string error;                          // the same for standard error alone, which then is not in `output`
  std::string submit_directory;               // where submit was called; empty: `directory`
  std::string container;                      // image that the command runs in; empty: none (docs/containers.md)
  std::string container_runtime;              // podman, apptainer or singularity; empty: by its image and the site
  std::vector<std::string> container_mounts;  // "SOURCE[:TARGET[:ro]]", besides `directory`
  std::string kind;                           // row of the speed and power tables; empty: unknown

  std::optional<int> mem_mib;           // GPU memory; nothing: auto
  std::optional<int> mem_estimate_mib;  // by its model, for want of better (docs/memory.md); history counts more
  std::string mem_basis;                // what that rests on, in words
  std::optional<bool> exact_memory;  // requests and tensors counted (docs/preload.md); nothing: defaults.exact_memory
  std::optional<bool> prelaunch;     // starts before its slice is free (docs/preload.md); nothing: prelaunch.all
  int min_slices = 1;                // compute slices
  int max_slices = 0;                // likewise; 0: no bound
  std::string profile;               // "1g.10gb": a slice of that profile and no other; empty: any
  std::string gpu_model;             // "h100": on a GPU of that model; empty: any
  bool exclusive = false;            // a whole GPU
  bool one_gpu = false;              // "a GPU", without a size: what that means is defaults.gpu_means
  bool pty = false;                  // of `run --pty`: somebody at a terminal, who may do nothing for hours
  std::optional<UnixTime> deadline;
  std::optional<bool> patient;  // may wait while it has time, where that saves energy; nothing: defaults.patient
  std::optional<Time> time_limit;
  std::optional<Time> estimate;  // of the whole job on estimate_slices compute slices
  int estimate_slices = 0;       // 0: the whole GPU
  bool requeue = false;          // may be stopped and started from the beginning
  bool once = false;             // what has begun is never begun again, but on request; before all other wishes
  bool oom_retry = true;         // on a larger slice, when it runs out of GPU memory
  int checkpoint_signal = 0;     // sent before a stop; the job saves its progress and exits. 0: none
  std::optional<Time> restart;   // what saving and resuming takes; nothing: by its kind, else kUnknownRestart
  std::optional<Time> grace;     // from the first signal of a stop to the kill; nothing: the daemon's defaults.grace
  double cpus = 0;               // 0: in proportion to the slice
  int host_mem_mib = 0;
  std::optional<Time> idle;  // ended once it has not used its GPU for so long; 0: never; nothing: the site's
  bool keep_alive = false;   // a server: begun again when it fails
  std::optional<int> port;   // to listen on; 0: the daemon chooses one when it accepts the job
  int priority = 0;          // root alone may raise it
  std::vector<Dependency> dependencies;
  bool singleton = false;         // waits until earlier jobs of its name and owner have ended
  bool hold = false;              // waits until it is released
  std::optional<UnixTime> begin;  // starts no earlier
  std::vector<MailEvent> mail;    // what its owner wants to hear of, by the operator's hooks.mail; ascending
  std::string group;              // the operator limits how many jobs of a group run at once; empty: none
  std::string project;            // whose quota it counts for (queue/jobs/quotas.h); empty: none
  std::string reservation;        // of GPUs: it runs there and then alone; empty: wherever others may
  std::string mail_user;          // where to; empty: the owner's name
  std::vector<int> array;         // task indices; empty: a single job
  int array_limit = 0;            // tasks at once; 0: no limit

  bool preemptible() const { return !once && (requeue || checkpoint_signal != 0); }
  bool may_grow() const { return oom_retry && !once; }  // restarted for want of memory
};

// `environment` may be left out of what is shown to people. As text: one line.
Json spec_json(const JobSpec& spec, bool with_environment = true);
std::string to_json(const JobSpec& spec, bool with_environment = true);
// A long command as lists show it: its beginning, then its length and its hash. A short one as it is, and twice is the
// same as once.
inline constexpr std::size_t kLongCommand = 4096;
std::size_t bytes_of_command(const JobSpec& spec);
std::vector<std::string> shown_command(const std::vector<std::string>& command);
// Environment, script and a command longer than kLongCommand, one line; empty: it has none of these. The other way
// round, into a spec without them.
std::string launch_json(const JobSpec& spec);
Result<Ok> take_launch(JobSpec& spec, std::string_view launch);
// What execve refuses: a string of more than 128 KiB, or too many bytes of command and environment together. kInvalid.
Result<Ok> can_be_executed(const JobSpec& spec);
// Strict: an unknown key, a wrong type, a value out of range is an error that names the key. The command, directory and
// sizes are checked; whether the fleet can run it is not.
Result<JobSpec> read_job_spec(const Json& json, UnixTime now);  // `now`: what deadline_s counts from
Result<JobSpec> parse_job_spec(std::string_view text, UnixTime now);

}  // namespace smartmig
