// The parts of a daemon over GPUs in memory, a clock that stands, a store in a directory of its own and a runner that
// notes what it is asked for: each part can be called by itself, in any order.
#pragma once
#include <gtest/gtest.h>

#include <thread>

#include "serve/attempts/attempt_ends.h"
#include "serve/attempts/suspensions.h"
#include "serve/daemon/decisions.h"
#include "serve/daemon/gpu_reports.h"
#include "serve/daemon/upkeep.h"
#include "support/fake_driver.h"
#include "support/set_clock.h"
#include "support/temp_dir.h"

namespace smartmig {

class NotedRunner : public JobRunner {
 public:
  Result<Ok> start(const Launch& launch) override {
    if (start_error) return *start_error;
    started.push_back(launch.id);
    return Ok{};
  }
  std::optional<Result<Ok>> begin(const Launch& launch) override {
    if (!slow) return start(launch);
    beginning.push_back(launch.id);
    return std::nullopt;
  }
  bool begins_at_once() const override { return int(beginning.size()) < most_beginning; }
  std::vector<Begun> begun() override { return std::exchange(told, {}); }
  // Those that are beginning have begun, or `how` says why not.
  void tell(std::optional<Error> how = {}) {
    for (const AttemptId& id : std::exchange(beginning, {})) {
      told.push_back({id, how ? Result<Ok>(*how) : Result<Ok>(Ok{})});
      if (!how) started.push_back(id);
    }
  }
  using JobRunner::stop;
  Result<Ok> stop(AttemptId id, int, Time, StopReason) override {
    stopped.push_back(id);
    return Ok{};
  }
  Result<Ok> grant(const Launch& launch) override {
    granted_to.push_back(launch.id);
    return Ok{};
  }
  Result<Ok> suspend(AttemptId, bool) override { return Ok{}; }
  Result<Found> recover(const std::vector<AttemptId>& expected) override {
    Found out;
    for (const AttemptId& id : expected) {
      for (const AttemptId& running : found.running)
        if (running == id) out.running.push_back(id);
      for (const AttemptExit& ended : found.ended)
        if (ended.id == id) out.ended.push_back(ended);
    }
    return out;
  }
  std::vector<Left> left(const std::function<bool(std::uint64_t)>& wanted) const override {
    std::vector<Left> out;
    for (const Left& one : left_here)
      if (wanted(one.id.job)) out.push_back(one);
    return out;
  }
  std::vector<AttemptExit> poll() override { return std::exchange(exits, {}); }
  std::vector<AttemptId> others_on(const std::string& device, AttemptId mine) override {
    std::vector<AttemptId> out;
    for (const auto& [on, id] : alive)
      if (on == device && id != mine) out.push_back(id);
    return out;
  }
  std::vector<AttemptId> found_alive() const override { return unknown_alive; }
  std::optional<AttemptId> attempt_of_process(int pid) const override {
    const auto at = processes.find(pid);
    return at == processes.end() ? std::nullopt : std::optional(at->second);
  }
  std::string log_path(AttemptId) const override { return ""; }
  void forget(std::uint64_t job) override { forgotten.push_back(job); }

  std::optional<Error> start_error;
  bool slow = false;  // tell() says what came of starts
  int most_beginning = 1000;
  std::vector<AttemptId> beginning;
  std::vector<Begun> told;
  Found found;
  std::vector<Left> left_here;
  std::vector<std::pair<std::string, AttemptId>> alive;  // slice, who
  std::vector<AttemptId> unknown_alive;
  std::map<int, AttemptId> processes;
  std::vector<AttemptExit> exits;
  std::vector<AttemptId> started, stopped, granted_to;
  std::vector<std::uint64_t> forgotten;
};

struct DaemonParts {
  // `slices`: what GPU 0 is cut into, such as "4g@0+3g@4"; the other GPUs are empty.
  explicit DaemonParts(const std::string& gpus = "2xa100-40gb", const char* slices = "4g@0+3g@4", Settings with = {})
      : driver(cut(gpus, slices)),
        reshaper(Reshaper::open(*driver, dir.path()).value()),
        store(std::move(Store::open(dir.path() + "/queue.db").value())) {
    if (with.host.cpus <= 0) with.host.cpus = 1000;
    if (with.host.mem_mib <= 0) with.host.mem_mib = 1 << 30;
    world.pace.advice = std::chrono::hours(1000);
    state = std::move(DaemonState::open(world, std::move(with), store->start().value()).value());
    quarantine.emplace(state->session);
    guard.emplace(runner, state->boards, *quarantine, state->figures.counts);
    transitions.emplace(state->session, state->book, state->figures, state->reservations, state->attempts,
                        state->quotas);
    visible.emplace(state->settings, state->session, state->book, state->boards, state->attempts, state->shares,
                    state->groups, state->quotas, state->admission, state->estimates, *transitions);
    attempts.emplace(state->settings, runner, false, state->session, state->book, state->boards, state->attempts,
                     state->shares, *transitions, *visible, *guard);
    ends.emplace(state->settings, runner, state->session, state->book, state->boards, state->attempts, *attempts,
                 state->memory, state->estimates, *transitions, state->figures);
    reports.emplace(state->settings, state->session, state->book, state->boards, state->attempts, *attempts,
                    state->memory, state->figures, *quarantine, *guard);
    decisions.emplace(state->settings, world.pace, clock, state->session, state->book, state->attempts, state->shares,
                      *attempts, state->figures, state->reservations);
    suspensions.emplace(state->session, state->book, state->attempts, runner, *guard);
    upkeep.emplace(state->settings, state->session, state->book, *store, runner);
    EXPECT_TRUE(decisions->make_policies());
    tell_all();
  }

  static std::shared_ptr<FakeDriver> cut(const std::string& gpus, const char* slices) {
    std::shared_ptr<FakeDriver> made = std::move(FakeDriver::open(gpus, {}).value());
    const Layout layout = parse_layout(*made->read(GpuId{0})->model, slices).value();
    for (const PlacementId p : layout) EXPECT_TRUE(made->create(GpuId{0}, p));
    return made;
  }
  PlacementId place(const char* slice) const {
    return *parse_layout(*state->session.platform().models()[0].gpu, slice).value().begin();
  }
  JobRecord& accept(double minutes = 10, const std::function<void(JobRecord&)>& change = {}) {
    JobRecord job;
    job.spec.command = {"train"};
    job.spec.directory = "/";
    job.owner.uid = job.owner.gid = 1001;
    job.times.submitted = clock.now();
    job.work.estimate = from_minutes(minutes);
    if (change) change(job);
    return state->book.accept(std::move(job));
  }
  // One that has an attempt under way on this slice of GPU 0.
  JobRecord& run_on(const char* slice, double minutes = 10) {
    JobRecord& job = accept(minutes);
    put_on(job, slice);
    state->attempts.began(job);
    state->attempts.take({0, index(place(slice))}, job.id);
    EXPECT_TRUE(state->session.found_running(job, GpuId{0}, place(slice), clock.now()));
    state->boards.attempt_began(job);
    return job;
  }
  void put_on(JobRecord& job, const char* slice) {
    job.status.found(JobStatus::kRunning);
    job.attempt = 1;
    job.place.gpu = 0;
    job.place.slice = slice_of(*state->session.platform().models()[0].gpu, place(slice));
    job.place.device = state->boards.device(0, place(slice));
    job.times.started = job.times.first_started = clock.now();
  }
  void pass(Time time) {
    clock.set(clock.now() + time);
    state->session.begin_step();
  }
  void tell_all() {
    while (state->session.session().advance()) {
    }
  }
  // Until what was decided and stored is done: starts wait for a list of processes.
  void carry_out() {
    attempts->carry_out();
    wait_for_lanes();
    reports->take();
    attempts->carry_out();
  }
  void take_begun() {
    for (const JobRunner::Begun& one : runner.begun()) attempts->begun(one);
  }
  // A sample of each board that does nothing else, taken.
  void sample() {
    state->boards.sample_idle_lanes();
    wait_for_lanes();
    reports->take();
    tell_all();
  }
  void wait_for_lanes() {
    for (std::size_t g = 0; g < state->boards.size(); ++g)
      while (state->boards.lanes().pending(GpuId(g)) + state->boards.looks().pending(GpuId(g)) > 0)
        std::this_thread::yield();
  }
  bool commit() {
    return state->book.commit(
        state->session.journal().take(), [this] { return state->boards.meter().state(); }, clock.now(), [](QueueId) {});
  }
  const GpuState& believed(std::size_t gpu) const { return state->session.cluster().gpu(GpuId(gpu)); }

  TempDir dir;
  SetClock clock{UnixTime(std::chrono::hours(1000))};
  std::shared_ptr<FakeDriver> driver;
  Reshaper reshaper;
  std::unique_ptr<Store> store;
  NotedRunner runner;
  DaemonWorld world{clock, *driver, reshaper, runner, *store, false, "0", "auto", {}};
  std::unique_ptr<DaemonState> state;
  std::optional<SliceQuarantine> quarantine;
  std::optional<SliceGuard> guard;
  std::optional<JobTransitions> transitions;
  std::optional<VisibleJobs> visible;
  std::optional<Attempts> attempts;
  std::optional<AttemptEnds> ends;
  std::optional<GpuReports> reports;
  std::optional<Decisions> decisions;
  std::optional<Suspensions> suspensions;
  std::optional<Upkeep> upkeep;
};

}  // namespace smartmig
