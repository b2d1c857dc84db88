// Decides for the jobs of a cluster with the loop of sched/session.h over LiveFleet, as the daemon does. Events come
// from the cluster's engine (workload.h) and the agents; effects go to them.
//
//   the engine reports (once a second)             effects
//     a held job that may run   -> an arrival        start    the agent reserves the slice on its disk; then the job is
//     the job has ended         -> an end                     pinned to the node and released
//     the job was requeued      -> withdrawn         stop     requeued, held (jobs with `restart=`)
//     its agent reports its end -> an end, at once; the engine reports later how it ended
//     the job's output shows that its slice's memory ran out: requeued, held, with a request for more
//     its node is down, drained -> GPUs blocked      create, destroy   sent to the agent, one lane for each GPU
//
// A job that is missing from the engine's replies has not necessarily ended: a job with a slice keeps it until its
// agent reports that none of its processes exists. A job is placed only on nodes that it may use and that have CPUs and
// memory for it. A job that the engine does not start there is taken back and placed elsewhere.
//
// No state here must survive: the agents know the holder of each slice, and the engine knows the running and waiting
// jobs. A restarted or second controller asks both and continues. A controller whose belief turns out to be wrong ends
// with kRebuild and is opened again. The journal is only history (`smartmig replay`). open() and run() on one thread,
// which owns the clock; stop() from any.
#pragma once
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "cluster/agents.h"
#include "cluster/confined_plans.h"
#include "cluster/metric_lines.h"
#include "cluster/past.h"
#include "cluster/task_lanes.h"
#include "cluster/workload.h"
#include "queue/belief/live_session.h"
#include "queue/config/settings.h"
#include "queue/jobs/admission.h"
#include "queue/learning/learned_times.h"
#include "queue/policies/policies.h"

namespace smartmig {

// Jobs that are over on their nodes, as agents tell of them. Thread rule: free.
class EndedJobs {
 public:
  using One = std::pair<std::string, std::uint32_t>;  // node and the job's number
  void add(const std::string& node, const std::vector<std::uint32_t>& jobs) {
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t job : jobs) list_.emplace_back(node, job);
  }
  std::vector<One> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(list_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<One> list_;
};

class ClusterController {
 public:
  struct Options {
    Settings settings;
    std::string state_dir;  // of the journal and of what nodes have been seen
    std::string name;       // of this controller, for people: the host's
    std::string version = "0";
    std::uint64_t epoch = 0;  // above every other controller's before it
    Time poll = Time(1'000'000), heartbeat = Time(2'000'000);
    Time start_patience = Time(60'000'000);  // a released job that does not start is taken back after it
    Time agent_limit = Time(15'000'000), status_limit = Time(5'000'000);
    Time reshape_limit = Time(60'000'000);        // a GPU whose agent takes longer is left alone until it is done
    std::string metrics_file;                     // for Prometheus; empty: none
    std::function<void(const std::string&)> say;  // words for the log; empty: none
    std::string news_address;                     // where agents tell of ends; empty: they are asked
    EndedJobs* ended = nullptr;                   // what came there
    ClusterPast* past = nullptr;  // what a page asks of the time before (cluster_service.h); null: nobody does
    std::function<void(ClusterController&)> attend;  // called in every step: who asks is answered; empty: nobody does
  };
  enum class Outcome { kStopped, kRebuild, kReplaced };  // kReplaced: another controller has taken over

  static Result<std::unique_ptr<ClusterController>> open(ClusterWorkload& workload, Agents& agents, LiveClock& clock,
                                                         Options options);
  ~ClusterController();
  Outcome run(const std::atomic<bool>& stop);
  void step();  // one turn of run(): what has come, a decision if due, what follows

  struct Counts {
    std::uint64_t queries = 0, batches = 0, actions = 0, starts = 0, stops = 0, taken_back = 0, ended = 0, grown = 0,
                  doubts = 0, creates = 0, destroys = 0, decisions = 0;
    double decide_s = 0, longest_decision_s = 0;
  };
  const Counts& counts() const { return counts_; }
  const LiveSession& session() const { return *session_; }
  std::string in_one_line() const;
  std::string metrics() const;  // as Prometheus reads them

  // What a page asks (cluster_service.h): on the controller's thread.
  struct Gpu {
    std::string node;
    int index = 0;  // on its node
    bool trouble = false, blocked = false;
    bool kept = false;        // its agent keeps a slice of a job that has ended by the engine's word and lives
    bool used = false;        // a slice of it was refused because a process is there
    bool late = false;        // an operation has not ended within its limit
    int differs = 0;          // how often in a row its agent has shown another layout than is believed
    std::string uuid, words;  // words: of its trouble
    std::optional<double> watts;
    std::optional<EnergyTotals> energy;  // since its agent began to count
  };
  const std::vector<Gpu>& gpus() const { return gpus_; }
  std::vector<const JobRecord*> shown_jobs();  // that have not ended, as they are now, by number
  const JobRecord* shown_job(QueueId id);      // null: it has ended, or never was
  const Options& options() const { return options_; }
  const EngineWords& words() const { return workload_.words(); }
  const Policies& policies() const { return *policies_; }
  UnixTime now() const { return clock_.now(); }

 private:
  // Where a job is on its way to a slice; from kPinning on it has one.
  // kLeft: it is over on its node, so its slice is free, and the engine has not said yet how it ended.
  enum class Way : std::uint8_t { kWaiting, kPinning, kReserving, kReleased, kRunning, kStopping, kTakingBack, kLeft };
  using Gpus = ConfinedPlans::Gpus;
  struct Bar {  // a node where the engine did not start it
    std::string words;
    bool for_good = false;
  };
  struct Tracked {
    JobRecord record;
    ClusterJob seen;
    Way way = Way::kWaiting;
    GpuId gpu = kNoGpu;
    PlacementId where = kNoPlacement;
    UnixTime since{};                  // on this way, or since an action was asked for again
    UnixTime given{};                  // when it was first released for the slice it has
    std::uint64_t given_look = 0;      // the number of the last snapshot before its release
    UnixTime missing{};                // since when replies lack it; 0: they have it
    bool asked_over = false;           // its agent is being asked whether it is over
    std::string needs;                 // as it was last looked at
    std::shared_ptr<const Gpus> ever;  // where it may run; null: everywhere
    std::uint64_t ever_of = 0;         // the version of the nodes' facts that this is by
    std::map<std::string, Bar> barred;
    std::string nowhere;        // why no node may run it; empty: some may
    int cpus = 0, mem_mib = 0;  // that it takes of its node
    std::string told;           // to its owner, why it waits
    UnixTime told_at{};
    UnixTime not_before{};  // after a start that came to nothing
    Time pause{};
    bool left_alone = false;   // it can never run: the engine says so to its owner
    bool ready = false;        // nothing but a slice is missing
    std::string pinned;        // the node that was asked for last
    double joules_before = 0;  // of runs that were requeued
    std::uint64_t look = 0;    // the number of the snapshot that showed it last
  };
  struct Node {
    bool up = true, answers = true, asked = false;
    int silent = 0;  // questions in a row that got no answer
    std::shared_ptr<std::atomic<bool>> hangs = std::make_shared<std::atomic<bool>>(false);  // looked at by the lanes
    std::vector<std::function<void()>> later;                                               // when it answers again
    std::vector<GpuId> gpus;
    std::string published;
    ClusterNode seen;
    int cpus = 0, mem_mib = 0;                // that jobs with slices take
    int others_cpus = 0, others_mem_mib = 0;  // that other jobs took when nodes were last asked for
    int free_cpus() const { return seen.cpus - others_cpus - cpus; }
    int free_mem_mib() const { return seen.mem_mib - others_mem_mib - mem_mib; }
  };
  using Slice = std::pair<std::uint32_t, std::uint32_t>;  // GPU and placement

  ClusterController(ClusterWorkload& workload, Agents& agents, LiveClock& clock, Options options);
  // controller_open.cc
  Result<Ok> build();
  Result<Ok> add_nodes(const std::vector<ClusterNode>& nodes);
  void adopt(const Json& status);
  // controller_jobs.cc
  void see_jobs(const std::vector<ClusterJob>& jobs);
  void see(const ClusterJob& job);
  void see_pending(Tracked& job);
  void see_running(Tracked& job);
  bool track(const ClusterJob& job);
  void see_missing();
  void ask_whether_over(Tracked& job);
  void left(const std::string& node, std::uint32_t number);
  void ended_unseen(const ClusterJob& seen);
  void ended(Tracked& job);
  void went_back(Tracked& job);
  void show_waiting();
  // controller_places.cc
  void look_at_needs(Tracked& job);
  const std::string& nowhere(Tracked& job);
  ConfinedPlans::Where where(JobId row);
  bool has_room(const Node& node, const Tracked& job) const;
  void bar(Tracked& job, const std::string& words, bool for_good);
  void hold(Tracked& job, GpuId gpu, PlacementId where);  // the slice is the job's
  void uncharge(Tracked& job);
  bool drop_impossible(Plan& plan);
  std::string why_waits(const Tracked& job) const;
  void tell_owners();
  // controller_starts.cc
  void carry_out(const LiveFleet::Effect& effect);
  void try_postponed();
  void start(Tracked& job, GpuId gpu, PlacementId where);
  void reserve(Tracked& job);
  void reserved(const ClusterJobName& name, std::uint32_t number, Result<Json> answer);
  void take_back(Tracked& job, const std::string& why, Time pause);
  void release(Tracked& job);
  ClusterAction action(ClusterAction::What what, const Tracked& job) const;
  void free_slice(Tracked& job);
  struct Freed {  // a job whose slice its agent is told to take back
    ClusterAction account;
    bool over = false;
    GpuId gpu = kNoGpu;
    int had_mib = 0;
    double joules_before = 0;
    Json request;
  };
  void tell_free(const std::string& node, Freed job);
  void give_back(const std::string& node, std::uint32_t number, GpuId gpu);
  void keep(std::uint32_t number, GpuId gpu, const std::string& words);
  void was_freed(const std::string& node, Freed job, const Result<Json>& answer);
  struct Failed {  // what a job that has failed had
    ClusterJobName name;
    std::string memo;
    int had_mib = 0;
  };
  void grow(const Failed& job, int asked_mib);
  void change(const LiveFleet::Effect& effect, bool create);
  void changed(GpuId gpu, PlacementId where, bool create, UnixTime asked, const Result<Json>& answer);
  // controller_nodes.cc
  void ask_nodes();
  void see_nodes(const std::vector<ClusterNode>& nodes);
  void see_facts(Node& node, const ClusterNode& seen);
  void heard(const std::string& node, const Result<Json>& answer);
  void see_status(const std::string& node, const Json& status);
  void set_blocked(GpuId gpu);
  void publish(Node& node, const std::string& name);

  // controller_shown.cc
  void learn_from(const Tracked& job);
  void read_times();
  void write_times();
  void look_at(Tracked& job);   // its record becomes as it is
  void remember(Tracked& job);  // one that has ended
  void see_energy(Gpu& gpu, const Json& board);
  // controller_agents.cc
  static constexpr int kSilentHeartbeats = 3;
  void fell_silent(const std::string& node, const std::string& words);
  void post_when_it_answers(const std::string& node, std::function<void()> again);
  void post(const std::string& lane, const std::string& node, Json request, Time limit,
            std::function<void(Result<Json>)> then);

  void decide();
  void act(ClusterAction action) { actions_.push_back(std::move(action)); }
  void say(const std::string& words) const;
  void flush();
  void write_metrics();
  Tracked* find(const ClusterJobName& name);
  Tracked* find(QueueId id);
  Tracked* find_number(std::uint32_t number);
  const GpuModel& model(GpuId gpu) const { return *session_->platform().model(gpu).gpu; }
  std::string place(GpuId gpu, PlacementId where) const;  // "n1 GPU 0 3g.20gb@4"

  ClusterWorkload& workload_;
  Agents& agents_;
  LiveClock& clock_;
  Options options_;
  std::unique_ptr<LiveSession> session_;
  std::unique_ptr<Policies> policies_;
  Admission admission_;
  LearnedTimes times_;
  bool times_changed_ = false;
  std::size_t active_users_ = 1;
  std::vector<Gpu> gpus_;
  std::map<std::string, Node> nodes_;
  std::vector<std::string> absent_;  // nodes that have never answered: asked until they do
  std::map<ClusterJobName, Tracked> jobs_;
  std::map<QueueId, ClusterJobName> names_;
  std::unordered_map<std::uint32_t, ClusterJobName> numbers_;  // by the number that agents know
  std::map<Slice, ClusterJobName> occupied_;
  struct Postponed {
    LiveFleet::Effect effect;
    QueueId job = kNoId;
  };
  std::vector<Postponed> postponed_;
  std::map<std::uint32_t, Json> found_;  // slices of jobs at agents that nobody here knows of, by number
  std::map<std::uint32_t, Slice>
      left_;  // such slices that are to be given back, until the engine has said how the job ended
  std::set<std::uint32_t> freeing_;      // numbers of jobs whose slices agents were told to take back
  std::map<std::uint32_t, GpuId> kept_;  // slices that agents keep because their jobs are not over, by number
  std::unique_ptr<ConfinedPlans> plans_;
  struct Places {
    std::shared_ptr<const Gpus> ever;  // null: everywhere
    std::string nowhere;               // why no node may run it
  };
  std::map<std::string, Places> places_;                   // by Tracked::needs
  std::map<std::string, ConfinedPlans::Where> where_now_;  // likewise, of the decision under way
  std::uint64_t facts_ = 1;                                // version of what is known of the nodes
  std::vector<ClusterAction> actions_;
  std::set<ClusterJobName> strangers_;  // without a request that can be read: left alone
  UnixTime next_poll_{}, next_heartbeat_{}, next_nodes_{}, next_tick_{}, next_metrics_{}, next_words_{}, next_times_{};
  std::uint64_t look_ = 0;
  bool built_ = false, rebuild_ = false, replaced_ = false;
  bool answers_ = true, metrics_written_ = true, doubts_ = false;
  Counts counts_;
  RecentTimes decisions_, turns_;
  std::ofstream journal_;
  struct Inbox {
    std::mutex mutex;
    std::vector<std::function<void()>> results;
  };
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  TaskLanes lanes_;  // last: ends before what its tasks use
};

QueueId queue_id(const ClusterJobName& name);
// What a page calls it: numbers of tasks are below 2^53, so that a browser counts them exactly. Tasks from 2^20 on
// would share one with another; no other name does.
QueueId page_id(QueueId id);
QueueId from_page_id(QueueId id);

}  // namespace smartmig
