#include "sim/believed_fleet.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/simulate.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

constexpr CostModel kRealCosts{CostModel::kHardware, {}};

// Starts every waiting job on the whole GPU where it is free, and tells a watcher of every decision.
class OneByOne : public Policy {
 public:
  std::function<void(const Cluster&)> watch = [](const Cluster&) {};
  void decide(const Cluster& cluster, Plan& plan) override {
    watch(cluster);
    if (cluster.running() > 0) return;
    for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
      if (cluster.state(job).phase == JobPhase::kQueued) {
        plan.starts.push_back({job, GpuId(0), *cluster.gpus()[0].layout.begin()});
        return;
      }
  }
};

SimSetup believed_setup(std::shared_ptr<const Platform> platform, std::vector<Job> jobs, const char* estimates) {
  return {platform, fixture::bind(std::move(jobs), *platform), kRealCosts, fixture::layouts(*platform, {"7g@0"}),
          2e-7,     parse_estimates(estimates).value()};
}

TEST(BelievedFleet, TheWorldTakesTheTrueTimesAndThePolicySeesOthers) {
  const auto platform = fixture::platform("1xa100-40gb");
  // Flat: both are told to take the geometric mean of 2 and 8 minutes.
  const SimSetup setup = believed_setup(
      platform, {fixture::job(0, -1, fixture::linear(2)), fixture::job(0, -1, fixture::linear(8))}, "flat,told");
  OneByOne policy;
  std::vector<Time> overruns;
  policy.watch = [&](const Cluster& cluster) {
    for (unsigned j = 0; j < 2; ++j)
      if (cluster.state(JobId{j}).phase != JobPhase::kAbsent)
        EXPECT_NEAR(minutes(cluster.jobs().job(JobId{j}).work_on(7)), 4, 1e-6);
    for (const Event& event : cluster.news())
      if (event.kind == EventKind::kOverrun) overruns.push_back(event.at);
  };
  MemoryJournal journal;
  const auto result = simulate(setup, policy, &journal);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->final.state(JobId(0)).finish, min(2));
  EXPECT_EQ(result->final.state(JobId(1)).finish, min(10));
  // The second is thought to end at 6 min: told a second later, then half of what it has run is added.
  ASSERT_EQ(overruns.size(), 2u);
  EXPECT_EQ(overruns[0], min(6) + Time(1'000'000));
  EXPECT_NEAR(seconds(overruns[1]), 6 * 60 + 1 + 241 / 2.0 + 1, 1e-3);
  // The journal is the world's: overruns are beliefs.
  Cluster again(setup.platform, setup.jobs, setup.cost, setup.initial);
  for (const Event& event : journal.events()) {
    EXPECT_NE(event.kind, EventKind::kOverrun);
    again.apply(event);
  }
  EXPECT_EQ(summarize(again, 2e-7, 1).et, result->summary.et);
}

TEST(BelievedFleet, LearnsAsJobsEnd) {
  const auto platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (int i = 0; i < 60; ++i) jobs.push_back(fixture::job(10 * i, -1, fixture::linear(5)));
  const SimSetup setup = believed_setup(platform, std::move(jobs), "lognormal:0.69:3");
  OneByOne policy;
  std::vector<double> believed, spread;
  policy.watch = [&](const Cluster& cluster) {
    const JobId last{std::uint32_t(cluster.counters().arrivals - 1)};
    if (believed.size() == cluster.counters().arrivals) return;
    believed.push_back(minutes(cluster.jobs().job(last).work_on(7)));
    spread.push_back(cluster.jobs().job(last).spread);
  };
  ASSERT_TRUE(simulate(setup, policy));
  ASSERT_EQ(believed.size(), 60u);
  double mean = 0;
  for (int i = 40; i < 60; ++i) mean += believed[std::size_t(i)] / 20;
  EXPECT_NEAR(mean, 5, 1);
  EXPECT_GT(spread[0], 0.5);
  EXPECT_LT(spread[59], 0.4);
}

TEST(BelievedFleet, IsTheSameEachTime) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto run = [&] {
    std::vector<Job> jobs;
    for (int i = 0; i < 20; ++i) jobs.push_back(fixture::job(3 * i, -1, fixture::linear(5)));
    OneByOne policy;
    std::vector<Time> at;
    policy.watch = [&](const Cluster& cluster) { at.push_back(cluster.now()); };
    EXPECT_TRUE(simulate(believed_setup(platform, std::move(jobs), "lognormal:1.1"), policy));
    return at;
  };
  EXPECT_EQ(run(), run());
}

// Six of a kind wait behind the first, which runs for ten hours: nothing was told of them, and the longer it runs the
// longer they are believed to take. They keep their places.
TEST(BelievedFleet, AJobThatRunsOnIsEvidenceForThoseThatWait) {
  const auto platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (int j = 0; j < 7; ++j) jobs.push_back(fixture::job(60 * j, -1, fixture::linear(600)));
  const SimSetup setup = believed_setup(platform, jobs, "none");
  OneByOne policy;
  std::vector<double> believed;  // of the second, while the first runs
  policy.watch = [&](const Cluster& cluster) {
    if (cluster.state(JobId(0)).phase == JobPhase::kRunning && cluster.state(JobId(1)).phase == JobPhase::kQueued)
      believed.push_back(minutes(cluster.jobs().job(JobId(1)).work_on(7)));
  };
  MemoryJournal journal;
  const auto result = simulate(setup, policy, &journal);
  ASSERT_TRUE(result) << result.error().what;
  ASSERT_GE(believed.size(), 3u);
  EXPECT_GT(believed.back(), 1.5 * believed.front());
  for (unsigned j = 1; j < 7; ++j)
    EXPECT_GT(result->final.state(JobId(j)).finish, result->final.state(JobId(j - 1)).finish) << "in order of arrival";
  for (const Event& event : journal.events()) EXPECT_NE(event.kind, EventKind::kWithdrawn) << "that is belief";
}

}  // namespace
}  // namespace smartmig
