// A cluster engine as the controller sees it (ARCHITECTURE, "Adding another cluster engine"): queries that return
// everything at once, and actions in batches. Implementations: Slurm (slurm/slurm_workload.h), Kubernetes, a cluster
// that is only observed (shadow.h), and clusters in memory in tests. A refused action is not an error here: the next
// query shows the result, and the caller decides again.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/units.h"

namespace smartmig {

// The GPU request of a job of a cluster, independent of the engine.
struct JobRequest {
  int mem_mib = 0;  // 0: any
  int min_slices = 1;
  std::optional<Time> deadline;  // from the submission on
  std::optional<Time> estimate;  // on the whole GPU
  std::optional<Time> restart;   // it saves its progress: it may be stopped, and needs this to go on
  std::string kind;              // of the speed and power tables; empty: unknown
  bool operator==(const JobRequest&) const = default;
};

// A job as its owner names it: "12", or "12_3" for a task of an array.
struct ClusterJobName {
  std::uint32_t id = 0;
  int task = -1;
  auto operator<=>(const ClusterJobName&) const = default;
};
std::string to_string(const ClusterJobName& name);

struct ClusterJob {
  enum Phase : std::uint8_t { kPending, kRunning, kEnding, kEnded } phase = kPending;
  enum Outcome : std::uint8_t { kCompleted, kFailed, kLost, kCancelled, kTimedOut, kPastDeadline };
  enum Refusal : std::uint8_t {
    kNone,
    kHere,        // the engine never starts it where it was put
    kTooEarly,    // something else must come first
    kImpossible,  // it can never run; the engine tells its owner
  };
  ClusterJobName name;
  std::uint32_t number = 0;  // that agents know it by; 0: it has none yet (kNumber gives it one)
  int array_limit = 0;       // tasks at once; 0: no limit
  std::uint32_t uid = 0;
  std::string user, title;
  std::optional<JobRequest> request;  // nothing: the job is left alone
  std::string unreadable;             // why there is none
  std::string memo;                   // the engine's own: comes back with every action on the job
  bool held = false;                  // the engine does not start it
  bool owner_holds = false;
  std::string obstacle;           // what it waits for besides a slice, in words; empty: nothing
  Refusal refusal = kNone;        // of a job that was granted a slice
  std::string reason;             // the engine's word for where it stands
  Outcome outcome = kLost;        // of one that has ended
  std::string state;              // the engine's word for that
  std::string given_node;         // the node that it was put on
  std::vector<std::string> logs;  // where the output of a failed job lies on its node
  bool requeue = false;           // it may run a second time
  int restarts = 0;
  Time time_limit{};                         // 0: none, or not known
  UnixTime submitted{}, started{}, ended{};  // 0: not known
  // What it takes of its node besides its slice.
  int cpus = 1;
  int mem_mib = 0;  // 0: a whole node's, where memory is counted; below 0: none
  bool whole_node = false;
  // Why it can never run on that node, as the end of a sentence: "lacks the feature big"; empty: it may. None: it may
  // run anywhere. Jobs with the same `needs` get the same answers.
  std::function<std::string(const std::string& node)> objection;
  std::string needs;
};

struct ClusterNode {
  std::string name;
  bool up = false;                     // takes jobs
  bool ours = true;                    // has GPUs that smartmig divides
  std::string state;                   // the engine's word
  std::string reason;                  // why it takes none, as who did it wrote
  std::string facts;                   // where this changes, objections may
  int cpus = 0, cpus_taken = 0;        // 0: not known
  int mem_mib = 0, mem_taken_mib = 0;  // 0: not counted
  bool operator==(const ClusterNode&) const = default;
};

struct ClusterAction {
  enum What : std::uint8_t {
    kNumber,    // the job gets a number, to be put on `node`
    kGrant,     // a held job may start on `node`, with `slice` of `gpu` there
    kTakeBack,  // a job that was granted a slice and has not started waits again, held
    kRequeue,   // a running job goes back into the queue, held
    kAskMore,   // a failed job goes back into the queue, held, and asks for `mem_mib` from now on
    kNote,      // `text` becomes why a waiting job waits
    kAccount,   // an ended job took `joules` on `slice` of `gpu` of `node`
    kPublish,   // `text` becomes the layouts of `node`, for people
  } what = kTakeBack;
  ClusterJobName job;
  std::uint32_t number = 0;
  std::string memo;  // the job's
  std::string node, slice, text;
  int gpu = 0;
  bool is_there = false;  // kGrant: the job is pinned to `node` already
  int mem_mib = 0;
  double joules = 0;
};

// What the page, the log and refusals say.
struct EngineWords {
  const char* name = "";       // "Slurm"
  const char* id = "";         // "slurm": in metrics and in the journal
  const char* no_nodes = "";   // no node has GPUs for smartmig
  const char* isolation = "";  // "Slurm's"
  const char* more = "";       // where a person reads more of a held job
  // What to use instead of an order to the API.
  const char *submit = "", *cancel = "", *requeue = "", *change = "", *usage = "", *groups = "", *reserve = "",
             *unreserve = "", *history = "", *whatif = "", *drain = "", *pause = "", *restart = "", *settings = "",
             *state = "", *log = "";
};

class MetricLines;

class ClusterWorkload {
 public:
  virtual ~ClusterWorkload() = default;
  virtual const EngineWords& words() const = 0;
  virtual Result<std::vector<ClusterJob>> jobs() = 0;  // ended ones for as long as the engine has them
  virtual Result<std::vector<ClusterNode>> nodes() = 0;
  // All of them, in order. An error: the engine could not be asked, and some may have been done.
  virtual Result<Ok> act(const std::vector<ClusterAction>& actions) = 0;
  virtual void add_metrics(MetricLines&) const {}
};

}  // namespace smartmig
