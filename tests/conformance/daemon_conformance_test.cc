// The same jobs under the same policy give the same journal in the simulator (hardware costs) and in the daemon over
// emulated GPUs on a virtual clock, to the byte; with real processes on a real clock, the same order of starts.
// SMARTMIG_PROPERTY_CASES scales the number of seeds.
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "daemon_harness.h"
#include "live/emulation/emulated_script.h"
#include "support/cases.h"
#include "support/reachable_copy.h"

namespace smartmig::daemon_conformance {
namespace {

void compare(const Setting& setting, Lived* out = nullptr) {
  SCOPED_TRACE(setting.words());
  DaemonRun run(setting);
  ASSERT_TRUE(run.ok());
  const Lived lived = run.live(asks_of(setting));
  expect_same(lived, simulate_rows(setting, lived));
  if (out) *out = lived;
}

class DaemonConformance : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(DaemonConformance, TheJournalIsThatOfTheSimulation) {
  const auto& [policy, gpus] = GetParam();
  for (int i = 0; i < cases(2); ++i) {
    Setting setting;
    setting.policy = policy;
    setting.gpus = gpus;
    setting.jobs = gpus == 8 ? 60 : 30;
    setting.seed = std::uint64_t(100 * gpus + i);
    setting.coarse = i % 2 == 1;
    setting.load = i % 2 ? 2 : 1.2;
    setting.demanding = policy == "planner";
    setting.begin = UnixTime(std::chrono::hours(7));  // the day of `twice` begins on the way
    compare(setting);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, DaemonConformance,
                         testing::Combine(testing::Values("planner", "none+edf", "static+cedf", "search+cedf",
                                                          "twice+cedf", "meanfield+cedf"),
                                          testing::Values(1, 2, 8)),
                         [](const auto& one) {
                           std::string name = std::get<0>(one.param) + "_" + std::to_string(std::get<1>(one.param));
                           std::replace(name.begin(), name.end(), '+', '_');
                           return name;
                         });

// Without deadlines and with some: `best` decides by batch, or by either.
TEST(DaemonConformanceBest, WithAndWithoutDeadlinesAlike) {
  for (const int no_deadline : {1, 2}) {
    Setting setting;
    setting.policy = "best";
    setting.gpus = 2;
    setting.jobs = 16;
    setting.seed = 302;
    setting.no_deadline = no_deadline;
    setting.load = 1.5;
    Lived lived;
    compare(setting, &lived);
    if (testing::Test::HasFatalFailure()) return;
    std::size_t made_up = 0;
    for (const Row& row : lived.rows) made_up += row.job.deadline_made_up;
    EXPECT_EQ(made_up, lived.rows.size() / std::size_t(no_deadline));
  }
}

// The bound on overtaking acts, and acts alike.
TEST(DaemonConformanceBound, DrainsForTheOvertakenAlike) {
  std::uint64_t drains = 0;
  for (const char* policy : {"planner", "static+cedf", "search+cedf"})
    for (int i = 0; i < cases(2); ++i) {
      Setting setting;
      setting.policy = policy;
      setting.gpus = 2;
      setting.jobs = 60;
      setting.seed = std::uint64_t(900 + i);
      setting.load = 3;
      setting.overtaking = 4;
      setting.demanding = policy == std::string("planner");
      Lived lived;
      compare(setting, &lived);
      if (testing::Test::HasFatalFailure()) return;
      drains += lived.drains;
    }
  EXPECT_GT(drains, 0u) << "nothing was overtaken: the case tests nothing";
}

// Jobs that save their progress are stopped and go on later, with the same restart and the same rest. With a short window
// rows of stopped jobs are renumbered, too.
TEST(DaemonConformanceStops, StoppedJobsGoOnAlike) {
  std::size_t stops = 0;
  for (const int gpus : {1, 2})
    for (int i = 0; i < cases(2); ++i) {
      Setting setting;
      setting.gpus = gpus;
      setting.jobs = 80 * gpus;
      setting.window = 64;
      setting.seed = std::uint64_t(700 + i);
      setting.load = 1.4;
      setting.restart_s = 4;
      Lived lived;
      compare(setting, &lived);
      if (testing::Test::HasFatalFailure()) return;
      stops += std::size_t(std::count_if(lived.lines.begin(), lived.lines.end(), [](const std::string& line) {
        return line.find("\"stopped\"") != line.npos;
      }));
    }
  EXPECT_GT(stops, 10u) << "hardly a job was stopped: the case tests nothing";
}

// The belief's rows are renumbered in the middle of the run; nobody can tell from what is decided. Not so the
// mean-field controller: its arrival rates come from the rows of the last hour, and those of jobs that have ended are
// gone.
TEST(DaemonConformanceRows, RenumberingChangesNothing) {
  for (const char* policy : {"static+cedf", "none+edf", "planner"}) {
    Setting setting;
    setting.policy = policy;
    setting.gpus = 2;
    setting.jobs = std::max(240, cases(700));  // more than twice the window
    setting.window = 96;
    setting.load = 0.8;
    setting.seed = 5;
    compare(setting);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// How often the boards are read has no part in what is decided.
TEST(DaemonConformanceSamples, SamplingAddsNoDecision) {
  Setting setting;
  setting.gpus = 2;
  setting.seed = 11;
  std::vector<std::string> lines[2];
  std::uint64_t decisions[2];
  for (int i = 0; i < 2; ++i) {
    setting.sample = i == 0 ? Time(std::chrono::minutes(30)) : Time(7'300'000);
    setting.begin = UnixTime(std::chrono::hours(1));
    DaemonRun run(setting);
    ASSERT_TRUE(run.ok());
    std::vector<Ask> asks = asks_of(setting);
    for (Ask& ask : asks) ask.spec.mem_mib = 3000;  // else later ones get what earlier ones were seen to hold
    const Lived lived = run.live(asks);
    lines[i] = lived.lines;
    decisions[i] = lived.decisions;
  }
  for (std::size_t e = 0; e < std::min(lines[0].size(), lines[1].size()); ++e) ASSERT_EQ(lines[0][e], lines[1][e]) << e;
  EXPECT_EQ(lines[0].size(), lines[1].size());
  EXPECT_EQ(decisions[0], decisions[1]);
  EXPECT_FALSE(lines[0].empty());
}

// A policy that draws layouts would reshape for ever if its own operations made it decide again.
TEST(DaemonConformanceIdle, AFleetWithoutJobsStaysAsItIs) {
  Setting setting;
  setting.policy = "meanfield+cedf";
  DaemonRun run(setting, [](DaemonHostOptions& o) { o.tick = from_seconds(10); });
  ASSERT_TRUE(run.ok());
  run.settle();
  const std::size_t lines = run.lines_after(0).size();
  run.until(run.daemon().now() + std::chrono::hours(1));
  EXPECT_EQ(run.lines_after(0).size(), lines);
  EXPECT_EQ(run.daemon().counts().decisions, 0u);
}

// A tick that finds the queue paused is over: the owner sleeps until the next.
TEST(DaemonConformanceIdle, APausedQueueWaitsForItsNextTick) {
  Setting setting;
  DaemonRun run(setting, [](DaemonHostOptions& o) { o.tick = from_seconds(10); });
  ASSERT_TRUE(run.ok());
  run.settle();
  std::vector<std::string> warnings;
  run.daemon().pause(true);
  ASSERT_TRUE(run.daemon().jobs().submit({1001, 1001, false}, {asks_of(setting)[0].spec}, warnings));
  run.daemon().step();
  run.until(run.daemon().now() + std::chrono::minutes(1));
  for (int i = 0; i < 20; ++i) {
    run.daemon().step();
    EXPECT_GT(run.daemon().next_due(), run.daemon().now());
    run.advance(kNeverUnix);
  }
}

// ---- with processes

std::vector<std::string> starts_of(const std::vector<std::string>& lines) {
  std::vector<std::string> starts;
  for (const std::string& line : lines)
    if (const auto at = line.find("\"started\""); at != line.npos) starts.push_back(line.substr(at));
  return starts;
}

std::vector<Ask> short_jobs(std::uint64_t seed, int jobs, double stretch) {
  static const char* kinds[] = {"bert-train", "resnet50-infer", "linear", "sublinear"};
  Rng rng(seed, 3);
  std::vector<Ask> asks;
  for (int i = 0; i < jobs; ++i) {
    Ask ask;
    ask.spec.kind = kinds[rng.below(std::size(kinds))];
    const double work_s = stretch * rng.uniform(0.4, 3);
    ask.spec.directory = "/";
    ask.spec.mem_mib = 1000;
    ask.spec.estimate = from_seconds(work_s);
    ask.spec.deadline = UnixTime() + from_seconds(work_s * rng.uniform(2, 20));
    ask.spec.command = {fmt::format("true{}", i)};  // each a program of its own: nothing is learned of the others
    asks.push_back(std::move(ask));
  }
  return asks;
}

// What a slow host does to jobs: each runs longer than expected by up to `most_s`, and has so much less time until its
// deadline when it is decided about.
std::vector<Ask> delayed(std::vector<Ask> asks, const Lived& lived, double most_s, std::uint64_t seed) {
  Rng rng(seed, 4);
  for (std::size_t i = 0; i < asks.size(); ++i) {
    EmulatedScript script;
    const double delay_s = rng.uniform(0, most_s);
    for (int k = 1; k <= kMaxComputeSlices; ++k)
      if (const Time work = lived.rows[i].job.work_on(k); work != kCannotRun)
        script.seconds[std::size_t(k - 1)] = seconds(work) + delay_s;
    asks[i].spec.environment = script.to_environment();
    *asks[i].spec.deadline -= from_seconds(rng.uniform(0, most_s));
  }
  return asks;
}

struct Steady {
  std::vector<Ask> asks;
  std::vector<std::string> starts;
  double delay_s = 0;  // of any job, by so much, changes nothing
};

// Of many workloads the one whose starts stay the same under the longest delays, with its starts on a virtual clock,
// where daemon and simulator must agree.
Steady steadiest(const Setting& setting, double stretch) {
  Steady best;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    std::vector<Ask> asks = short_jobs(seed, setting.jobs, stretch);
    std::optional<DaemonRun> run(std::in_place, setting);
    if (!run->ok()) return {};
    const Lived lived = run->live(asks);
    run.reset();  // a process has one emulated machine at a time
    expect_same(lived, simulate_rows(setting, lived));
    if (testing::Test::HasFailure()) return {};
    const std::vector<std::string> starts = starts_of(lived.lines);
    const auto stays = [&](double most_s) {
      for (std::uint64_t draw = 1; draw <= 8; ++draw) {
        DaemonRun late(setting);
        if (!late.ok() || starts_of(late.live(delayed(asks, lived, most_s, draw)).lines) != starts) return false;
      }
      return true;
    };
    double delay_s = best.delay_s;
    while (stays(delay_s + 0.1 * stretch)) delay_s += 0.1 * stretch;
    if (delay_s > best.delay_s) best = {std::move(asks), starts, delay_s};
  }
  return best;
}

class DaemonProcesses : public testing::TestWithParam<std::string> {};

// All jobs come at once, and are chosen so that delays of the host do not change who is next. Where they do all the
// same, every time is doubled: what comes from the host then weighs half, what the daemon does wrong stays.
TEST_P(DaemonProcesses, JobsStartInTheOrderOfTheSimulation) {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const char* named = std::getenv("SMARTMIG_NVML_SIM");
  const auto program = (named ? std::filesystem::path(named) : here / "nvml-sim") / "smartmig-emulated-job";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "no " << program;
  const ReachableCopy job_program(program);  // as root the daemon runs jobs as another user
  Setting setting;
  setting.policy = GetParam();
  setting.jobs = 14;
  if (GetParam().starts_with("static")) setting.layouts = "3g+2g+1g+1g";
  for (const int stretch : {1, 2, 4}) {
    Steady steady = steadiest(setting, stretch);
    ASSERT_FALSE(HasFailure());
    ASSERT_GE(steady.delay_s, 0.1 * stretch) << "in every workload a small delay changes the order";
    for (std::size_t i = 0; i < steady.asks.size(); ++i) {
      const JobSpec& spec = steady.asks[i].spec;
      const std::string own = fmt::format("{}-{}-{}", job_program.path(), stretch, i);
      std::filesystem::create_symlink(job_program.path(), own);
      steady.asks[i].spec.command = {
          own, "--kind", spec.kind, "--work-s", fmt::format("{:.6f}", seconds(*spec.estimate)), "--steps", "1"};
    }
    DaemonRun run(setting, [&](DaemonHostOptions& o) {
      o.clock = "real";
      o.in_process = false;
      o.decide_each_arrival = false;  // all are one instant's, as on the virtual clock
      o.settings.energy.sample = from_seconds(1);
    });
    ASSERT_TRUE(run.ok());
    const Lived lived = run.live(steady.asks);
    ASSERT_EQ(lived.done, steady.asks.size());
    const std::vector<std::string> starts = starts_of(lived.lines);
    if (starts == steady.starts) return;
    if (stretch < 4)
      fmt::print("times {}: another order than on a virtual clock, which delays of {:.1f} s leave as it is\n", stretch,
                 steady.delay_s);
    else
      FAIL() << fmt::format("with all times x 4 they start as\n  {}\ninstead of\n  {}", fmt::join(starts, "\n  "),
                            fmt::join(steady.starts, "\n  "));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, DaemonProcesses, testing::Values("static+cedf", "planner"), [](const auto& one) {
  return one.param.starts_with("static") ? std::string("static_cedf") : one.param;
});

}  // namespace
}  // namespace smartmig::daemon_conformance
