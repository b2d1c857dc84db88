// A daemon and a simulator over the same jobs. The daemon runs first, on emulated GPUs; the simulator then gets the job
// rows that the daemon's policy saw, the layouts that its GPUs had when the first job came, and a policy of the same
// name in the same wrapping. Both journals are compared as text: kind, job, GPU, slice, order and microsecond.
#pragma once
#include <gtest/gtest.h>

#include "base/rng.h"
#include "eval/policy_stack.h"
#include "model/speed.h"
#include "report/journal.h"
#include "serve/api/daemon_host.h"
#include "sim/sim_fleet.h"
#include "support/temp_dir.h"

namespace smartmig::daemon_conformance {

struct Setting {
  std::string policy = "planner";
  int gpus = 1, jobs = 40;
  std::uint64_t seed = 1;
  double load = 1.2;    // of the fleet's whole GPUs
  UnixTime begin{};     // first submit, no earlier
  bool coarse = false;  // submits and estimates in whole seconds: much happens at the same instant
  int window = 512;     // small: the belief is compacted in between
  std::string layouts;  // of a static policy
  std::uint32_t overtaking = 64;
  bool demanding = false;  // some jobs need large slices, which a policy must make
  double restart_s = 0;    // above: every other job is one that can be stopped at this price
  int no_deadline = 0;     // above: one in so many jobs has none
  Time sample = std::chrono::minutes(10);
  std::string words() const {
    return fmt::format("{} on {} GPUs, {} jobs, seed {}{}", policy, gpus, jobs, seed, coarse ? ", whole seconds" : "");
  }
};

struct Ask {
  Time after{};  // since the first submit
  JobSpec spec;  // its deadline counts from the submit, as if that were in 1970
};

inline std::vector<Ask> asks_of(const Setting& setting) {
  static const char* kinds[] = {"bert-train", "resnet50-infer", "linear", "capped", "sublinear", "", "bert-train-8"};
  Rng rng(setting.seed, 77);
  std::vector<Ask> asks;
  const double mean_s = 600;
  double at_s = 0;
  for (int i = 0; i < setting.jobs; ++i) {
    Ask ask;
    double work_s = std::min(rng.exponential(mean_s) + 20, 5 * mean_s);
    if (rng.below(5) != 0) at_s += rng.exponential(1.25 * mean_s / setting.load / setting.gpus);  // else: together
    if (setting.coarse) {
      at_s = std::floor(at_s / 10) * 10;
      work_s = std::ceil(work_s / 10) * 10;
    }
    ask.after = from_seconds(at_s);
    ask.spec.command = {fmt::format("train{}", i)};  // each a program of its own: nothing is learned of the others
    ask.spec.directory = "/";
    ask.spec.kind = kinds[rng.below(std::size(kinds) - (setting.demanding ? 0 : 1))];
    ask.spec.estimate = from_seconds(work_s);
    ask.spec.deadline = UnixTime() + from_seconds(work_s * rng.uniform(1, 4));
    if (setting.no_deadline > 0 && i % setting.no_deadline == 0) ask.spec.deadline.reset();
    if (rng.below(3) == 0) ask.spec.mem_mib = int(1000 + rng.below(setting.demanding ? 30'000 : 3'500));
    if (rng.below(6) == 0 && setting.demanding) ask.spec.min_slices = int(1 + rng.below(7));
    if (setting.restart_s > 0 && i % 2 == 0) {
      ask.spec.checkpoint_signal = 10;
      ask.spec.restart = from_seconds(setting.restart_s);
      if (!ask.spec.mem_mib) ask.spec.mem_mib = 1000;  // else it comes back with what it was seen to hold
    }
    asks.push_back(std::move(ask));
  }
  return asks;
}

struct Row {
  Job job;
  std::string name, kind;
};

struct Lived {
  std::shared_ptr<const Platform> platform;
  std::vector<Layout> initial;
  std::vector<Row> rows;
  std::vector<std::string> lines;  // from the first submit on
  std::size_t lines_before = 0;
  std::uint64_t decision_number = 0;  // when the first job came: some policies draw by it
  std::uint64_t decisions = 0, refused = 0, drains = 0, done = 0;
};

class DaemonRun {
 public:
  explicit DaemonRun(const Setting& setting, std::function<void(DaemonHostOptions&)> change = {}) : setting_(setting) {
    DaemonHostOptions options;
    options.settings.places.driver = fmt::format("emulate:{}xa100-40gb", setting.gpus);
    options.settings.places.state_dir = dir_.path();
    options.settings.policy.name = setting.policy;
    options.settings.policy.layouts = setting.layouts;
    options.settings.defaults.exact_estimates = true;  // nor does it learn
    options.settings.policy.gather = Time{0};          // a simulated session does not look again without an event
    options.settings.limits.window = setting.window;
    options.settings.overtaking.bound = setting.overtaking;
    options.settings.energy.sample = setting.sample;
    options.clock = "virtual";
    options.in_process = true;
    options.emulation_seed = 7;
    options.decide_each_arrival = true;
    // The guard of a learned policy weighs it against plain ones on a thread of its own, so its word comes at any time:
    // here it is not asked.
    options.advice = days(365);
    if (change) change(options);
    auto opened = DaemonHost::open(std::move(options));
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().what);
    if (opened) host_ = std::move(*opened);
  }
  bool ok() const { return bool(host_); }
  Daemon& daemon() { return host_->daemon(); }
  DaemonHost& host() { return *host_; }

  // The GPUs have what was asked for and nothing is under way.
  void settle() {
    daemon().step();
    const auto settled = [&] {
      for (const GpuState& gpu : daemon().cluster().gpus())
        if (gpu.layout != gpu.target) return false;
      return true;
    };
    while (!settled()) advance(daemon().next_due());
  }
  void advance(UnixTime instant) {
    host_->clock().wait_until(std::min(instant, daemon().next_due()));
    daemon().step();
  }
  // All that comes before this instant.
  void until(UnixTime instant) {
    while (daemon().now() < instant) {
      host_->clock().wait_until(std::min(instant, daemon().next_due()));
      if (daemon().now() < instant) daemon().step();
    }
  }

  Lived live(const std::vector<Ask>& asks) {
    Lived out;
    settle();
    until(host_->clock().is_virtual() ? std::max(setting_.begin, daemon().now() + std::chrono::minutes(30))
                                      : daemon().now() + from_seconds(1));
    out.platform = daemon().state().session.shared_platform();
    for (const GpuState& gpu : daemon().cluster().gpus()) out.initial.push_back(gpu.layout);
    const std::uint64_t position = daemon().state().session.journal().position(),
                        decisions = daemon().counts().decisions;
    out.lines_before = lines_after(0).size();
    out.decision_number = daemon().cluster().decision();
    const UnixTime zero = daemon().now();
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < asks.size();) {
      until(zero + asks[i].after);
      std::vector<QueueId> ids;
      for (; i < asks.size() && zero + asks[i].after <= daemon().now(); ++i) {
        JobSpec spec = asks[i].spec;
        if (spec.deadline) spec.deadline = daemon().now() + spec.deadline->time_since_epoch();
        const auto given = daemon().jobs().submit({1001, 1001, false}, {spec}, warnings);
        EXPECT_TRUE(given) << (given ? "" : given.error().what);
        if (given) ids.push_back(given->front());
      }
      daemon().step();
      for (const QueueId id : ids) {
        const JobId row = daemon().state().session.belief().row(id);
        EXPECT_NE(row, kNoJob) << "job " << number(id) << " is not visible";
        if (row == kNoJob) return out;
        const auto& table = *daemon().state().session.belief().table();
        out.rows.push_back(
            {table.job(row), table.workload().names[index(row)], table.workload().kind_of(table.job(row))});
      }
    }
    const UnixTime longest = daemon().now() + std::chrono::hours(24 * 30);  // a job that nothing makes room for
    while (!daemon().live_jobs().empty() && daemon().now() < longest) advance(kNeverUnix);
    settle();  // and what the last end led to
    out.lines = lines_after(position);
    out.decisions = daemon().counts().decisions - decisions;
    out.refused = daemon().counts().refused;
    out.drains = daemon().policies().stack().overtaking()->drains();
    out.done = daemon().counts().ended[std::size_t(JobStatus::kDone)];
    return out;
  }

  // Lines of events, without notes and headers.
  std::vector<std::string> lines_after(std::uint64_t position) {
    std::vector<std::string> lines;
    for (;;) {
      const auto rows = host_->store().events_after(position, 1000);
      if (!rows || rows->empty()) return lines;
      for (const EventRow& row : *rows) {
        position = row.sequence;
        if (row.line.starts_with("{\"t\":")) lines.push_back(row.line);
      }
    }
  }

 private:
  Setting setting_;
  TempDir dir_;
  std::unique_ptr<DaemonHost> host_;
};

struct Simulated {
  std::vector<Event> events;
  std::vector<std::string> lines;
  std::uint64_t decisions = 0, refused = 0;
  std::size_t done = 0;
};

// As the daemon's settings ask for it; without its gate, which these settings leave open.
inline std::unique_ptr<Policy> policy_of(const Setting& setting, std::shared_ptr<const Platform> platform) {
  PolicySpec spec;
  spec.name = setting.policy;
  spec.options.layouts = setting.layouts;
  spec.options.rule.seed = 1;
  spec.options.rule.w = kPaperWeight;
  spec.cost = {CostModel::kHardware, {}};
  spec.guarding = Guarding::kByOwner;
  spec.overtaking = {setting.overtaking, Settings().overtaking.patience};
  auto stack = PolicyStack::make(spec, std::move(platform));
  EXPECT_TRUE(stack) << (stack ? "" : stack.error().what);
  return stack ? std::move(stack->policy) : nullptr;
}

inline std::shared_ptr<const JobTable> table_of(const Lived& lived) {
  auto workload = std::make_shared<Workload>();
  for (const Row& row : lived.rows) {
    workload->jobs.push_back(row.job);
    workload->jobs.back().kind = row.kind.empty() ? -1 : workload->add_kind(row.kind);
    workload->names.push_back(row.name);
  }
  auto table = JobTable::bind(workload, *lived.platform);
  EXPECT_TRUE(table) << (table ? "" : table.error().what);
  return table ? std::make_shared<const JobTable>(std::move(*table)) : nullptr;
}

inline Simulated simulate_rows(const Setting& setting, const Lived& lived) {
  Simulated out;
  const auto table = table_of(lived);
  const auto policy = policy_of(setting, lived.platform);
  if (!table || !policy) return out;
  Cluster start(lived.platform, table, {CostModel::kHardware, {}}, lived.initial);
  while (start.decision() < lived.decision_number) start.begin_decision();
  SimFleet fleet(start);
  MemoryJournal journal;
  Session session(fleet, start, &journal);
  for (Plan plan; session.advance(); plan.clear()) {
    policy->decide(session.cluster(), plan);
    session.act(plan);
    ++out.decisions;
  }
  out.refused = session.refused();
  out.events = journal.events();
  const std::vector<std::string> kinds = SpeedTable::builtin().kinds();
  const JournalWriter writer(*lived.platform, kinds);
  for (std::size_t e = 0; e < out.events.size(); ++e) {
    const Event& event = out.events[e];
    out.done += event.kind == EventKind::kFinished;
    const bool submitted = event.kind == EventKind::kSubmitted;
    Job job;
    if (submitted) {
      const std::string& kind = lived.rows[index(event.job)].kind;
      job = lived.rows[index(event.job)].job;
      if (!kind.empty()) job.kind = int(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    }
    out.lines.push_back(writer.event(lived.lines_before + e, event, event.job == kNoJob ? 0 : index(event.job),
                                     submitted ? &job : nullptr,
                                     submitted ? &lived.rows[index(event.job)].name : nullptr));
  }
  return out;
}

inline void expect_same(const Lived& lived, const Simulated& simulated) {
  ASSERT_EQ(simulated.done, lived.rows.size());
  EXPECT_EQ(lived.done, lived.rows.size());
  EXPECT_EQ(lived.refused, simulated.refused);
  for (std::size_t e = 0; e < simulated.lines.size(); ++e) {
    ASSERT_LT(e, lived.lines.size()) << "the daemon's journal ends before " << simulated.lines[e];
    if (simulated.lines[e] == lived.lines[e]) continue;
    std::string words;
    for (std::size_t i = e < 4 ? 0 : e - 4; i < e + 4; ++i)
      words += fmt::format("  sim {}\n  live {}\n", i < simulated.lines.size() ? simulated.lines[i] : "-",
                           i < lived.lines.size() ? lived.lines[i] : "-");
    FAIL() << "event " << e << " of " << simulated.lines.size() << ":\n" << words;
  }
  // The simulation ends with the last completion; operations may go on after it, starts cannot.
  for (std::size_t e = simulated.lines.size(); e < lived.lines.size(); ++e) {
    EXPECT_EQ(lived.lines[e].find("\"started\""), std::string::npos) << lived.lines[e];
    EXPECT_EQ(lived.lines[e].find("\"submitted\""), std::string::npos) << lived.lines[e];
  }
  // One decision for each event of the world while there are jobs: samples and time alone add none, nor does what comes
  // after the last end.
  EXPECT_EQ(lived.decisions, simulated.decisions);
}

}  // namespace smartmig::daemon_conformance
