#include "sim/simulate.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/sim_fleet.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

class ScriptedPolicy : public Policy {
 public:
  explicit ScriptedPolicy(std::function<void(const Cluster&, Plan&)> script) : script_(std::move(script)) {}
  void decide(const Cluster& cluster, Plan& plan) override { script_(cluster, plan); }

 private:
  std::function<void(const Cluster&, Plan&)> script_;
};

SimSetup setup_of(std::shared_ptr<const Platform> platform, std::vector<Job> jobs,
                  const std::vector<std::string>& layouts, CostModel cost = {}) {
  return {platform, fixture::bind(std::move(jobs), *platform), cost, fixture::layouts(*platform, layouts), 2e-7};
}

// Every waiting job to the first free slice of its GPU's layout, in order of arrival.
void first_free(const Cluster& cluster, Plan& plan) {
  std::vector<std::uint32_t> free;
  for (const GpuState& gpu : cluster.gpus()) free.push_back(gpu.free().bits());
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    for (std::size_t g = 0; g < free.size(); ++g)
      if (free[g] != 0) {
        plan.starts.push_back({job, GpuId(g), PlacementId(std::countr_zero(free[g]))});
        free[g] &= free[g] - 1;
        break;
      }
  }
}

// Holds every job back for five minutes. Nothing else happens then, but for the other job's end.
TEST(Simulate, APolicyThatWantsToLookAgainDecidesThen) {
  const auto platform = fixture::platform("1xa100-40gb");
  for (const char* estimates : {"exact", "over:1.5"}) {
    SCOPED_TRACE(estimates);
    auto setup = setup_of(
        platform, {fixture::job(0, 100, fixture::linear(2)), fixture::job(60, 200, fixture::linear(2))}, {"7g@0"});
    setup.estimates = parse_estimates(estimates).value();
    ScriptedPolicy policy([&](const Cluster& cluster, Plan& plan) {
      const JobId job = cluster.first_unfinished();
      if (job == kNoJob || cluster.state(job).phase != JobPhase::kQueued) return;
      const Time due = cluster.jobs().job(job).submit + min(5);
      if (cluster.now() < due)
        plan.look_again = due;
      else
        first_free(cluster, plan);
    });
    const auto result = simulate(setup, policy);
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->final.state(JobId(0)).first_start, min(5));
    EXPECT_EQ(result->final.state(JobId(1)).first_start, min(65));
  }
}

TEST(Simulate, TwoJobsByHand) {
  // 4g+3g. Job 0 (17.5 min on 4g) from 0; job 1 (14 min on 3g) from 10. At 17.5 job 0 ends and job 1, 7.5 of 14 min
  // done, moves to 4g, where it needs 10.5 min in all: 6.5 x 10.5/14 = 4.875 min more. The end is at 22.375.
  const auto platform = fixture::platform("2xa100-40gb");
  const auto setup =
      setup_of(platform, {fixture::job(0, 17.5, fixture::linear(10)), fixture::job(10, 20, fixture::linear(6))},
               {"4g@0+3g@4", "7g@0"});
  const PlacementId four = fixture::slice(*platform, 0, "4g@0"), three = fixture::slice(*platform, 0, "3g@4");
  ScriptedPolicy policy([&](const Cluster& cluster, Plan& plan) {
    const auto decision = cluster.decision();
    if (decision == 1) plan.starts.push_back({JobId(0), GpuId(0), four});
    if (decision == 2) plan.starts.push_back({JobId(1), GpuId(0), three});
    if (decision == 3) {
      plan.stops.push_back(JobId(1));
      plan.starts.push_back({JobId(1), GpuId(0), four});
    }
  });
  const auto result = simulate(setup, policy);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->refused, 0u) << result->last_refusal;
  EXPECT_EQ(result->final.state(JobId(0)).finish, min(17.5));
  EXPECT_EQ(result->final.state(JobId(1)).finish, min(22.375));
  const Summary& s = result->summary;
  // The second GPU idles at 40 W to the end.
  EXPECT_NEAR(s.energy_wmin, 10 * 243.9 + 7.5 * 248.5 + 4.875 * 243.9 + 22.375 * 40, 1e-9);
  EXPECT_NEAR(s.idle_joules, 2 * 22.375 * 60 * 40, 1e-6);
  EXPECT_DOUBLE_EQ(s.mean_tardiness_min, 2.375 / 2);
  EXPECT_EQ(s.preemptions, 1u);
  EXPECT_EQ(s.moves, 0u);
  EXPECT_DOUBLE_EQ(s.utilisation, (4 * 17.5 + 3 * 7.5 + 4 * 4.875) / (14 * 22.375));
}

TEST(Simulate, EventsOfOneInstantComeOneByOne) {
  // Jobs 0 and 1 end at 10, when jobs 2 and 3 arrive: completions by id, then arrivals by id, a decision after each.
  const auto platform = fixture::platform("1xa100-40gb");
  const fixture::Work ten{10, 10, 10, 10, 10};
  const auto setup = setup_of(
      platform,
      {fixture::job(0, 99, ten), fixture::job(0, 99, ten), fixture::job(10, 99, ten), fixture::job(10, 99, ten)},
      {"1g@0+1g@1"});
  std::vector<std::string> seen;
  ScriptedPolicy policy([&](const Cluster& cluster, Plan& plan) {
    ASSERT_EQ(cluster.news().size(), 1u);
    const Event& e = cluster.news()[0];
    seen.push_back(fmt::format("{} {}{}", minutes(e.at), e.kind == EventKind::kFinished ? "end" : "new", index(e.job)));
    first_free(cluster, plan);
  });
  ASSERT_TRUE(simulate(setup, policy));
  EXPECT_EQ(seen, (std::vector<std::string>{"0 new0", "0 new1", "10 end0", "10 end1", "10 new2", "10 new3", "20 end2",
                                            "20 end3"}));
}

TEST(Simulate, JobsOfNoLengthEndWhereTheyStart) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto setup =
      setup_of(platform, {fixture::job(3, 3, {0, 0, 0, 0, 0}), fixture::job(3, 2, {0, 0, 0, 0, 0})}, {"7g@0"});
  ScriptedPolicy policy(first_free);
  const auto result = simulate(setup, policy);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->final.state(JobId(0)).finish, min(3));
  EXPECT_EQ(result->final.state(JobId(1)).finish, min(3));
  EXPECT_DOUBLE_EQ(result->summary.max_tardiness_min, 1);
  EXPECT_NEAR(result->summary.energy_wmin, 3 * 40, 1e-9);
}

TEST(Simulate, SaysWhichJobNeverRan) {
  const auto platform = fixture::platform("1xa100-40gb");
  const auto setup =
      setup_of(platform, {fixture::job(0, 9, fixture::linear(1)), fixture::job(1, 9, {-1, -1, -1, -1, 5})}, {"4g@0"});
  ScriptedPolicy policy([&](const Cluster& cluster, Plan& plan) {
    if (cluster.decision() == 1) first_free(cluster, plan);
  });
  const auto result = simulate(setup, policy);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().what.find("1 of 2 jobs never ran"), std::string::npos) << result.error().what;
  EXPECT_NE(result.error().what.find("job 1 (kind none)"), std::string::npos) << result.error().what;
}

TEST(Simulate, RefusesAnEmptyWorkloadAndCountsRefusedActions) {
  const auto platform = fixture::platform("1xa100-40gb");
  ScriptedPolicy policy([&](const Cluster& cluster, Plan& plan) {
    first_free(cluster, plan);
    plan.stops.push_back(JobId(1));
  });
  EXPECT_FALSE(simulate(setup_of(platform, {}, {"7g@0"}), policy));
  const auto result = simulate(setup_of(platform, {fixture::job(0, 9, fixture::linear(1))}, {"7g@0"}), policy);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->refused, 2u);
  EXPECT_EQ(result->last_refusal, "job #1 does not exist");
}

TEST(Simulate, ProgressChangesNothing) {
  const auto platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  for (int i = 0; i < 3000; ++i) jobs.push_back(fixture::job(i * 0.1, i, fixture::linear(0.7)));
  const auto setup = setup_of(platform, jobs, {"3g@0+3g@4"});
  ScriptedPolicy policy(first_free);
  std::vector<double> shares;
  MemoryJournal with, without;
  ASSERT_TRUE(simulate(setup, policy, &with, [&](double share) { shares.push_back(share); }));
  ASSERT_TRUE(simulate(setup, policy, &without));
  EXPECT_GE(shares.size(), 2u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(with.events().size(), without.events().size());
}

TEST(Simulate, InitialLayouts) {
  const auto platform = fixture::platform("1xa100-40gb,1xa30-24gb", "linear:40:30:250");
  const Shape a = parse_shape(*platform->model(GpuId(0)).gpu, "4g+3g").value(),
              b = parse_shape(*platform->model(GpuId(1)).gpu, "2g+1g+1g").value();
  const auto layouts = initial_layouts(*platform, std::vector<Shape>{a, b});
  ASSERT_TRUE(layouts);
  EXPECT_EQ((*layouts)[0], fixture::layout(*platform, 0, "4g@0+3g@4"));
  EXPECT_FALSE(initial_layouts(*platform, std::vector<Shape>{a}));
  const auto wrong = initial_layouts(*platform, std::vector<Shape>{a, a});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "GPU 1 (a30-24gb) cannot have that layout");
}

}  // namespace
}  // namespace smartmig
