// The owner of the queue: one thread that takes what happened (exits, finished operations, samples, requests), lets the
// policy decide, writes down what follows, and only then lets it happen.
//
//   gather -> tell the fleet -> decide and act (the one loop of sched/session.h) -> commit -> effects -> answers
//
// Invariants:
//   - nothing starts, stops or is answered before it is on disk; a commit that fails (full disk) stops new work, and
//   what
//     it held is tried again;
//   - a job is started by at most one attempt at a time, and an attempt by at most one supervisor (live/jobs/runner.h);
//   - rows of live jobs are the whole state: a new daemon over the same store, runner and GPUs goes on where this one
//   was.
// Here is neither HTTP nor configuration files nor a socket: tests run it in memory and on a virtual clock.
// Thread rule: run() and step() on the owner thread; ask(), wake and the callbacks of runner and lanes on any.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "live/energy/energy_meter.h"
#include "live/gpu/gpu_lanes.h"
#include "live/gpu/reshaper.h"
#include "live/jobs/runner.h"
#include "live/live_clock.h"
#include "live/live_fleet.h"
#include "model/memory_projection.h"
#include "serve/config/settings.h"
#include "serve/daemon/admission.h"
#include "serve/daemon/belief.h"
#include "serve/daemon/history.h"
#include "serve/daemon/hook_queue.h"
#include "serve/daemon/job_mapping.h"
#include "serve/daemon/policy_advice.h"
#include "serve/daemon/why.h"
#include "serve/http/metrics_text.h"
#include "serve/http/service.h"
#include "serve/store/live_journal.h"
#include "serve/store/store.h"

namespace smartmig {

using Json = nlohmann::json;

inline constexpr Time kOverrunGrace{1'000'000};  // after its expected end a job is taken to need more

// How often the daemon acts without being asked.
struct DaemonPace {
  Time tick = std::chrono::seconds(60);    // a decision at least so often; kNever: at events only
  bool decide_each_arrival = false;        // no decision is spared when jobs arrive together
  Time advice = std::chrono::minutes(10);  // between two looks of guard and shadow into the future
};

// What a daemon stands on. All of it outlives the daemon.
struct DaemonWorld {
  LiveClock& clock;
  MigDriver& driver;
  Reshaper& reshaper;
  JobRunner& runner;
  Store& store;
  bool emulated = false;             // jobs are registered on their slices with their kind's watts
  std::string version = "0";         // of the program, for the journal
  std::string power_model = "auto";  // of the GPUs; auto: the default of each model
  DaemonPace pace;
};

// The fleet at one moment, for futures. ids[i] is the queue's number of fork.jobs[i].
struct LiveFork {
  Fork fork;
  std::vector<std::uint64_t> ids;
  Time origin{};
  std::optional<EnergyPrices> prices;
};

class Daemon {
 public:
  // Reads the store, finds what runs, puts the pieces together. Nothing starts before the first step().
  static Result<std::unique_ptr<Daemon>> open(DaemonWorld world, Settings settings);
  ~Daemon();

  void run();   // until stop()
  void step();  // everything that is due now
  Time next_due() const;
  void stop();  // any thread: run() returns; jobs run on

  // Runs `work` on the owner thread within a step and returns once what it changed is stored. Where it `changes`
  // something: kIo when that could not be stored; new jobs are then not accepted.
  template <class T>
  Result<T> ask(std::function<Result<T>(Daemon&)> work, bool changes = false);
  // Waits until the journal holds more than `position`, or the time is over, or the daemon goes down (false). Any
  // thread.
  bool wait_for_news(std::uint64_t position, double seconds) const;
  void exits_wait() { world_.clock.wake(); }  // the runner's on_exit

  // ---- on the owner thread only
  Time now() const { return world_.clock.now(); }  // any thread
  const Cluster& cluster() const { return session_->cluster(); }
  const Belief& belief() const { return *belief_; }
  const std::map<std::uint64_t, JobRecord>& live_jobs() const { return jobs_; }
  const Settings& settings() const { return settings_; }
  Result<Ok> set_settings(Settings settings);  // SIGHUP: all but what belongs to the start

  Result<std::vector<std::uint64_t>> submit(const Caller& caller, std::vector<JobSpec> specs,
                                            std::vector<std::string>& warnings);
  Result<Ok> cancel(std::uint64_t id, const std::string& why);
  Result<Ok> requeue(std::uint64_t id, bool by_operator = true);
  Result<Ok> drain(int gpu, bool on);
  void pause(bool on);

  struct GpuFacts {
    GpuBoard board;
    double watts = 0;
    int dead_mib = 0;                                  // held by processes that do not exist
    std::map<std::uint32_t, std::string> quarantined;  // slices (by placement) that they hold, and the words for it
    std::string drained, trouble;                      // why it takes no work; empty: it does
    bool by_operator = false;
    std::vector<DeviceProcess> processes;
    Time sampled{-1};
    EnergySource source = EnergySource::kModel;
  };
  struct Counts {
    std::uint64_t decisions = 0, refused = 0, fallbacks = 0, shadow_differences = 0, oom_restarts = 0,
                  early_restarts = 0;
    std::uint64_t submitted = 0, preemptions = 0;
    std::array<std::uint64_t, kJobStatuses> ended{};
    double ended_tardiness_s = 0, ended_joules = 0;
    std::map<std::pair<std::string, std::string>, std::uint64_t> reconfigurations;  // by (kind, result)
    MetricsHistogram reconfiguration_s{{0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30}};
    MetricsHistogram decision_s{{1e-5, 1e-4, 1e-3, 5e-3, 2e-2, 0.1, 1}};
  };
  const std::vector<GpuFacts>& gpus() const { return gpus_; }
  const Counts& counts() const { return counts_; }
  const EnergyMeter& meter() const { return meter_; }
  const History& history() const { return history_; }
  const Policies& policies() const { return *policies_; }
  const Platform& platform() const { return *platform_; }
  std::shared_ptr<const Platform> shared_platform() const { return platform_; }
  const CostModel& cost() const { return cost_; }
  bool paused() const { return paused_; }
  const std::string& disk_trouble() const { return disk_trouble_; }
  const std::vector<double>& decision_times() const { return decision_times_; }  // the last ones, seconds of wall clock
  std::optional<Time> expected_finish(const JobRecord& job) const;               // Unix; of a running job
  std::optional<double> cost_of(const JobRecord& job) const;                     // at the configured prices
  DaemonWorld& world() { return world_; }
  Time started_at() const { return started_at_; }
  std::string instance_device(int gpu, PlacementId where) const;
  LiveFork fork_now(std::uint64_t id);
  Result<Why> why_now(std::uint64_t id);
  JobRecord as_record(const Caller& caller, JobSpec spec);  // as submit would take it
  MetricsInput metrics(const std::string& version) const;
  EnergyTotals board_energy(std::size_t gpu) const;
  double watts_of(GpuId gpu, PlacementId where) const;  // of the job there, by the power model
  nlohmann::json shadow_json() const { return advice_->shadow_json(counts_.decisions); }
  std::uint64_t journal_position() const { return journal_->position(); }

 private:
  using Request = std::pair<std::function<void()>, std::function<void(const Error*)>>;  // work, answer
  using SliceKey = std::pair<std::uint32_t, std::uint32_t>;                             // GPU, placement
  Daemon(DaemonWorld world, Settings settings) : world_(world), settings_(std::move(settings)) {}
  // daemon_start.cc
  Result<Ok> find_gpus(const StoreStart& start);
  Result<Ok> load_values(const StoreStart& start);
  Result<Ok> load_jobs(const StoreStart& start);
  void begin_session(std::uint64_t last_event);
  Result<Ok> find_running();
  void resume(JobRecord& job);
  Result<Ok> make_policies();
  void ask_for_initial_layouts();
  // daemon_jobs.cc
  void take_exits();
  void attempt_ended(JobRecord& job, const AttemptExit& exit);
  void finish(JobRecord& job, JobStatus status, std::string reason, bool completed);
  void back_to_queue(JobRecord& job, std::string reason, double remaining);
  void settle_dependents(std::uint64_t id, JobStatus status);
  bool dependencies_hold(JobRecord& job);  // true: it may run; else held, or already final
  void estimate(JobRecord& job);
  void learn_from(const JobRecord& job);
  double share_left(const JobRecord& job) const;
  void after_ends();
  void changed(const JobRecord& job) { dirty_.insert(job.id); }
  JobRecord* find(std::uint64_t id);
  Result<Ok> room_for(std::size_t tasks, std::uint32_t uid, bool by_operator) const;
  // daemon_gpus.cc
  void take_lane_results();
  void operation_done(const LaneResult& result);
  void sample_done(const LaneResult& result);
  void set_trouble(int gpu, std::string words);
  // daemon_memory.cc
  void see_memory(int gpu);
  void project(JobRecord& job, int used_mib);
  struct Shortage {        // why an attempt failed for want of GPU memory
    int needed_mib = 0;    // at the least; 0: nothing tells
    bool certain = false;  // the job's own reports say it
    std::string words;
  };
  std::optional<Shortage> shortage(const JobRecord& job, const AttemptExit& exit) const;
  int memory_after_failure(const JobRecord& job, int had, const Shortage& shortage) const;
  std::optional<JobMemory> requests_of(const JobRecord& job) const;
  void watch_dead(int gpu);
  void back_in_service(SliceKey key);
  int slice_memory_mib(int gpu, const std::string& slice) const;
  void sample_all();
  void find_overruns();
  BoardMeter& meter_of(int gpu);
  double weight_of(const JobRecord& job) const;
  void credit(const EnergyInterval& interval);
  // daemon_step.cc
  void admit();
  AdmissionLimits admission_limits() const;
  void decide_all();
  void decide();
  void prepare(const LiveFleet::Effect& effect);
  void begin_attempt(JobRecord& job, const LiveFleet::Effect& effect);
  void leave_slice(JobRecord& job, Time when);
  bool commit();
  void carry_out();
  void start_job(const LiveFleet::Effect& effect);
  void stop_job(JobRecord& job, JobRecord::Wish wish);
  void compact_if_needed();
  void count_running();
  std::string gate(const Cluster& cluster, const Start& start);
  void host_share(const JobRecord& job, int slices, double& cpus, int& mem_mib) const;
  void save_values();
  void map_jobs();
  // daemon_futures.cc
  void watch();
  void consult();
  void prune();

  DaemonWorld world_;
  Settings settings_;
  std::shared_ptr<const Platform> platform_;
  CostModel cost_{CostModel::kHardware, {}};
  std::vector<GpuFacts> gpus_;
  std::unique_ptr<Belief> belief_;
  std::unique_ptr<LiveFleet> fleet_;
  std::unique_ptr<LiveJournal> journal_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<GpuLanes> lanes_;
  EnergyMeter meter_;
  History history_;
  std::unique_ptr<Policies> policies_;
  std::unique_ptr<PolicyAdvice> advice_;
  std::optional<JobMapping> mapping_;
  std::string mapping_trouble_;
  Plan first_plan_, plan_;
  std::string fleet_changed_;

  std::map<std::uint64_t, JobRecord> jobs_;                      // not final
  std::map<std::uint64_t, std::vector<std::uint64_t>> waiting_;  // job -> those that depend on it
  std::map<AttemptId, std::uint64_t> attempts_;                  // under way
  std::map<SliceKey, std::uint64_t> occupied_;                   // whose processes are there, or about to be
  std::map<std::uint64_t, LiveFleet::Effect> postponed_;         // starts that wait for a process to leave, by job
  std::map<std::uint64_t, MemoryProjection> projections_;        // of running jobs
  std::map<std::uint64_t, int> contexts_mib_;                    // held beside their requests, of those that report
  std::map<SliceKey, std::uint64_t> phantoms_;                   // slices that dead processes hold
  std::map<SliceKey, int> dead_seen_;
  std::uint64_t last_phantom_ = 0;
  std::vector<AttemptExit> found_ended_;  // while no daemon was there
  Admission admission_;
  std::size_t active_users_ = 1;
  std::map<std::uint32_t, int> user_slices_;  // running, and started by the plan under way
  double plan_cpus_ = 0, plan_mem_mib_ = 0;
  std::set<std::uint64_t> dirty_, fresh_;  // rows to write; of these, new ones
  std::vector<LiveFleet::Effect> effects_;
  std::vector<std::uint64_t> to_stop_;
  std::vector<JobRecord> ended_now_;
  std::map<std::uint64_t, JobRecord> settling_;  // ended; the last joules are still to come
  std::set<std::uint64_t> energy_dirty_;         // jobs whose joules have grown since the last commit
  bool energy_due_ = false;
  StoreBatch batch_;
  HookQueue hooks_;
  std::uint64_t last_id_ = 0;
  JobEnd last_without_log_;  // logs of jobs that ended before it are gone, too
  bool admission_due_ = true, decide_anyway_ = false, paused_ = false;
  std::string disk_trouble_;
  Time next_tick_{}, next_sample_{}, next_save_{}, next_prune_{}, next_retry_{}, started_at_{};
  Counts counts_;
  std::vector<double> decision_times_;
  std::size_t decision_at_ = 0;

  std::mutex mutex_;
  std::vector<LaneResult> lane_results_;                    // guarded
  std::deque<Request> requests_;                            // guarded
  std::vector<std::function<void(const Error*)>> answers_;  // after the commit
  std::vector<std::uint64_t> accepted_;                     // new jobs of this step
  std::atomic<bool> stopping_{false};
  mutable std::mutex news_mutex_;
  mutable std::condition_variable news_;
  std::uint64_t stored_position_ = 0;  // guarded by news_mutex_
};

std::string user_name(std::uint32_t uid);

template <class T>
Result<T> Daemon::ask(std::function<Result<T>(Daemon&)> work, bool changes) {
  auto result = std::make_shared<std::optional<Result<T>>>();
  std::promise<void> done;
  auto answered = done.get_future();
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return lost_error("the daemon is going down");
    requests_.push_back({[this, result, work = std::move(work)] { *result = work(*this); },
                         [result, changes, &done](const Error* failed) {
                           if (!result->has_value() || (failed && changes && **result))
                             *result = Result<T>(failed ? *failed : lost_error("the daemon is going down"));
                           done.set_value();
                         }});
  }
  world_.clock.wake();
  answered.wait();
  return std::move(**result);
}

}  // namespace smartmig
