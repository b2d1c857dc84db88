// The simulator's own journal, replayed under its own policy, gives the same day. Measured times predict a day that
// took longer than expected; expected times do not.
#include "eval/counterfactual.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/policy_stack.h"

namespace smartmig {
namespace {

struct RecordedDay {
  std::shared_ptr<const Platform> platform;
  std::shared_ptr<const JobTable> jobs;
  MemoryJournal journal;
  std::vector<Layout> initial;
  std::optional<SimResult> result;
};

Workload small_day() { return std::move(load_workload("paper:2x,seed=5,hours=9-11").value()); }

// `true_times`: what the jobs really take; the journal speaks of `jobs`, as a daemon's does of its estimates.
RecordedDay record(const std::string& policy, CostModel cost, const Workload& workload) {
  RecordedDay out;
  out.platform = std::make_shared<const Platform>(*Platform::parse("2xa100-40gb"));
  out.jobs = std::make_shared<const JobTable>(
      std::move(JobTable::bind(std::make_shared<const Workload>(workload), *out.platform).value()));
  PolicyOptions options;
  Setting setting;
  setting.platform = out.platform;
  setting.cost = cost;
  options.rule.a = energy_weight(setting, workload);
  options.rule.w = per_job_weight(setting, workload);
  auto named = PolicyStack::make({policy, options, cost}, out.platform);
  out.initial = std::move(initial_layouts(*out.platform, named->initial).value());
  auto result = simulate({out.platform, out.jobs, cost, out.initial, options.rule.a}, *named->policy, &out.journal);
  EXPECT_TRUE(result) << result.error().what;
  out.result.emplace(std::move(*result));
  return out;
}

TEST(Counterfactual, TheRecordedPolicyGivesTheRecord) {
  for (const char* policy : {"none+edf", "static+cedf", "best"})
    for (const CostModel cost : {CostModel{}, CostModel{CostModel::kHardware, {}}}) {
      SCOPED_TRACE(std::string(policy) + " " + cost.name());
      const RecordedDay recorded = record(policy, cost, small_day());
      const auto day = recorded_day(recorded.platform, *recorded.jobs, cost, recorded.initial,
                                    recorded.result->summary.a, recorded.journal.events(), recorded.result->final);
      ASSERT_TRUE(day) << day.error().what;
      EXPECT_EQ(day->left_out, 0u);
      EXPECT_EQ(day->returned, 0u);
      EXPECT_NEAR(day->recorded.mean_tardiness_min, recorded.result->summary.mean_tardiness_min, 1e-9);
      EXPECT_EQ(day->recorded.late_jobs, recorded.result->summary.late_jobs);
      const auto again = live_again(*day, day->measured, policy, {{}, {}, true});
      ASSERT_TRUE(again) << again.error().what;
      const ReplayFidelity fidelity = fidelity_of(*day, *again, {});
      EXPECT_EQ(fidelity.finish.mean, 0);
      EXPECT_EQ(fidelity.p90_s, 0);
      EXPECT_NEAR(fidelity.total_energy, 0, 1e-12);
      EXPECT_NEAR(fidelity.energy.p90, 0, 1e-9);
    }
}

// What each job did is counted by who ran beside it; microseconds are rounded at every change.
TEST(Counterfactual, TheRecordedPolicyGivesTheRecordWhereNeighboursSlowEachOther) {
  const CostModel cost{CostModel::kHardware, {}};
  Workload crowded = small_day();
  for (std::size_t i = 0; i < crowded.jobs.size(); ++i) crowded.jobs[i].crowding = {0.1 * double(i % 8), 0.5};
  const RecordedDay recorded = record("static+cedf", cost, crowded);
  const auto day = recorded_day(recorded.platform, *recorded.jobs, cost, recorded.initial, recorded.result->summary.a,
                                recorded.journal.events(), recorded.result->final);
  ASSERT_TRUE(day) << day.error().what;
  const auto again = live_again(*day, day->measured, "static+cedf", {{}, {}, true});
  ASSERT_TRUE(again) << again.error().what;
  const ReplayFidelity fidelity = fidelity_of(*day, *again, {});
  EXPECT_LT(fidelity.p90_s, 1e-3);
  EXPECT_NEAR(fidelity.total_energy, 0, 1e-6);
  // The same day without neighbours is another one.
  const RecordedDay apart = record("static+cedf", cost, small_day());
  EXPECT_GT(std::abs(apart.result->summary.makespan_min - recorded.result->summary.makespan_min), 0.1);
}

// A record in which every job took half as long again as its arrival said: the events are those of the longer jobs.
TEST(Counterfactual, MeasuredTimesForetellWhatExpectedOnesMiss) {
  const Workload expected = small_day();
  Workload longer = expected;
  for (Job& job : longer.jobs)
    for (Time& work : job.work)
      if (work > Time{0}) work = rounded(1.5 * double(work.count()));
  const CostModel cost{CostModel::kHardware, {}};
  const RecordedDay recorded = record("none+edf", cost, longer);
  const auto jobs = JobTable::bind(std::make_shared<const Workload>(expected), *recorded.platform);
  ASSERT_TRUE(jobs) << jobs.error().what;
  const auto day = recorded_day(recorded.platform, *jobs, cost, recorded.initial, recorded.result->summary.a,
                                recorded.journal.events(), recorded.result->final);
  ASSERT_TRUE(day) << day.error().what;
  for (std::size_t j = 0; j < expected.jobs.size(); ++j)
    EXPECT_NEAR(double(day->measured->job(JobId(std::uint32_t(j))).work[0].count()),
                double(longer.jobs[j].work[0].count()), 20)
        << j;
  const auto measured = live_again(*day, day->measured, "none+edf", {{}, {}, true});
  const auto missed = live_again(*day, day->expected, "none+edf", {{}, {}, true});
  ASSERT_TRUE(measured && missed);
  EXPECT_LT(fidelity_of(*day, *measured, {}).finish.p90, 0.01);
  EXPECT_GT(fidelity_of(*day, *missed, {}).finish.mean, 0.2);
  EXPECT_LT(fidelity_of(*day, *missed, {}).total_energy, -0.05);
  // Joules that were measured stand in for the model's.
  std::map<std::string, double> joules;
  for (std::size_t j = 0; j < day->joules.size(); ++j)
    joules[day->measured->workload().name_of(j)] = 2 * day->joules[j];
  EXPECT_NEAR(fidelity_of(*day, *measured, joules).energy.mean, 0.5, 0.05);
}

TEST(Counterfactual, JobsThatNeverFinishedAreLeftOutAndReturnedOnesCountOnce) {
  Workload workload = small_day();
  workload.jobs.resize(3);
  workload.names = {"a", "b", "a"};
  for (std::size_t j = 0; j < 3; ++j) workload.jobs[j].submit = Time(std::int64_t(j) * 1'000'000);
  workload.jobs[0].deadline = Time(7'000'000);
  const auto platform = std::make_shared<const Platform>(*Platform::parse("1xa100-40gb"));
  const auto jobs = std::make_shared<const JobTable>(
      std::move(JobTable::bind(std::make_shared<const Workload>(workload), *platform).value()));
  const GpuModel& gpu = *platform->models()[0].gpu;
  const PlacementId whole = gpu.find_placement(gpu.find_profile("7g"), 0);
  const Layout layout = *gpu.with({}, whole);
  Cluster cluster(platform, jobs, {CostModel::kHardware, {}}, {layout});
  std::vector<Event> events;
  const auto at = [](double s) { return from_seconds(s); };
  const auto tell = [&](const Event& event) {
    events.push_back(event);
    cluster.apply(event);
  };
  tell(Event::submitted(at(0), JobId(0)));
  tell(Event::started(at(0), JobId(0), GpuId(0), whole));
  tell(Event::submitted(at(1), JobId(1)));
  tell(Event::withdrawn(at(1.5), JobId(0)));
  tell(Event::submitted(at(2), JobId(2)));
  tell(Event::started(at(2), JobId(2), GpuId(0), whole));
  tell(Event::finished(at(12), JobId(2)));
  const auto day = recorded_day(platform, *jobs, {CostModel::kHardware, {}}, {layout}, 2e-7, events, cluster);
  ASSERT_TRUE(day) << day.error().what;
  EXPECT_EQ(day->left_out, 1u) << "b";
  EXPECT_EQ(day->returned, 1u);
  ASSERT_EQ(day->finish.size(), 1u);
  EXPECT_EQ(day->measured->job(JobId(0)).submit, Time(0));
  EXPECT_EQ(day->measured->job(JobId(0)).deadline, Time(7'000'000));
  EXPECT_EQ(day->measured->job(JobId(0)).work_on(7), from_seconds(10)) << "what it took the second time";
  EXPECT_EQ(day->recorded.late_jobs, 1u);

  const auto nothing = recorded_day(platform, *jobs, {}, {layout}, 2e-7, {}, Cluster(platform, jobs, {}, {layout}));
  EXPECT_FALSE(nothing);
}

}  // namespace
}  // namespace smartmig
