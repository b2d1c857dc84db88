#include "policy/planner/best.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

constexpr CostModel kPaidStops{CostModel::kHardware, {}};

// Which of its two was asked, by what the planner in it leaves in the plan.
class MarkingPolicy : public Policy {
 public:
  explicit MarkingPolicy(int& asked) : asked_(asked) {}
  void decide(const Cluster&, Plan&) override { ++asked_; }

 private:
  int& asked_;
};

struct MixedQueue {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  Cluster cluster;
  explicit MixedQueue(const std::vector<Job>& jobs)
      : cluster(platform, fixture::bind(jobs, *platform), kPaidStops, fixture::layouts(*platform, {"7g@0"})) {
    for (std::size_t j = 0; j < jobs.size(); ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
  }
};

TEST(Best, ThePlannerDecidesWhileADeadlineWaits) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  MixedQueue queue({fixture::job(0, -1, fixture::linear(10)), fixture::job(0, -1, fixture::linear(10)),
                    fixture::job(0, 30, fixture::linear(10))});
  Plan plan;
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(plan.empty());
  queue.cluster.apply(Event::started(Time{0}, JobId(2), GpuId(0), fixture::slice(*queue.platform, 0, "7g@0")));
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1) << "what runs needs no decision: batch plans the rest, which came together";
}

TEST(Best, ADeadlineThatWasMadeUpIsNone) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  Job job = fixture::job(0, 30, fixture::linear(10));
  job.deadline_made_up = true;
  MixedQueue queue({job, job});
  Plan plan;
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(plan.starts.empty());
}

TEST(Best, ThePlannerDecidesAboutALoneJob) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  MixedQueue queue({fixture::job(0, -1, fixture::linear(10))});
  Plan plan;
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1);
}

// Times in minutes; the jobs take 10 minutes on the whole GPU.
struct JobsOverTime {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  std::vector<Job> jobs;
  Cluster cluster;
  explicit JobsOverTime(const std::vector<double>& submits)
      : jobs(of(submits)),
        cluster(platform, fixture::bind(jobs, *platform), kPaidStops, fixture::layouts(*platform, {"7g@0"})) {}
  static std::vector<Job> of(const std::vector<double>& submits) {
    std::vector<Job> out;
    for (const double at : submits) out.push_back(fixture::job(at, -1, fixture::linear(10)));
    return out;
  }
  void arrive(std::size_t count) {
    for (std::size_t end = came + count; came < end; ++came)
      cluster.apply(Event::submitted(jobs[came].submit, JobId(came)));
  }
  std::size_t came = 0;
};

TEST(Best, JobsThatComeOneByOneAreNoBatch) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  JobsOverTime queue({0, 5, 10, 15, 20, 25, 30, 35});
  Plan plan;
  queue.arrive(8);
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1);
}

TEST(Best, ABatchStaysOneUntilManyMoreCome) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  JobsOverTime queue({0, 0, 0, 0, 0, 0, 0, 0, 20, 40, 60});
  Plan plan;
  queue.arrive(8);
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 0);
  for (const int asked_then : {0, 0, 1}) {  // a quarter more is the most
    queue.arrive(1);
    plan.clear();
    policy.decide(queue.cluster, plan);
    EXPECT_EQ(asked, asked_then) << queue.came << " have come";
  }
}

// Eight jobs of ten hours at once: with a batch nobody else would have a slice until it ends.
TEST(Best, JobsThatOthersNeedRoomBesideAreNoBatch) {
  for (const bool shared : {true, false}) {
    SCOPED_TRACE(shared);
    int asked = 0;
    BestPolicy policy(std::make_unique<MarkingPolicy>(asked), {.shared = shared});
    const auto platform = fixture::platform("1xa100-40gb");
    Cluster cluster(platform, fixture::bind(std::vector<Job>(8, fixture::job(0, -1, fixture::linear(600))), *platform),
                    kPaidStops, fixture::layouts(*platform, {"7g@0"}));
    for (unsigned j = 0; j < 8; ++j) cluster.apply(Event::submitted(Time{0}, JobId(j)));
    Plan plan;
    policy.decide(cluster, plan);
    EXPECT_EQ(asked, shared ? 1 : 0);
  }
}

TEST(Best, WhatWaitedLongIsABatch) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  JobsOverTime queue({0, 5, 10, 15, 20, 25, 30, 35, 100});
  Plan plan;
  queue.arrive(8);
  queue.cluster.apply(Event::submitted(queue.jobs[8].submit, JobId(8)));
  queue.cluster.apply(Event::withdrawn(queue.jobs[8].submit, JobId(8)));
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 0) << "a queue of 80 minutes, and nothing came for 65";
}

TEST(Best, ABurstIsLookedAtTogetherWhereItFillsTheFleet) {
  const auto with_gather = [](std::shared_ptr<const Platform> platform) {
    PolicyOptions options;
    options.gather = from_seconds(0.3);
    return std::move(*make_policy("best", options, kPaidStops, *platform));
  };
  JobsOverTime queue({0, 0.001, 0.002});  // 60 ms apart
  const NamedPolicy one = with_gather(queue.platform);
  Plan plan;
  queue.arrive(1);
  one.policy->decide(queue.cluster, plan);
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.look_again, from_seconds(0.3));
  queue.arrive(2);
  plan.clear();
  one.policy->decide(queue.cluster, plan);
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.look_again, queue.jobs[2].submit + from_seconds(0.3));

  const auto two = fixture::platform("2xa100-40gb");
  Cluster idle(two, fixture::bind(queue.jobs, *two), kPaidStops, fixture::layouts(*two, {"7g@0", "7g@0"}));
  idle.apply(Event::submitted(Time{0}, JobId(0)));
  plan.clear();
  with_gather(two).policy->decide(idle, plan);
  EXPECT_EQ(plan.starts.size(), 1u) << "another GPU stays idle for those that come";
}

TEST(Best, ABurstOfJobsThatAreAlikeNeedsNoMoreThanFillTheFleet) {
  PolicyOptions options;
  options.gather = from_seconds(0.3);
  JobsOverTime queue({0, 0, 0, 0, 0, 0, 0, 0});
  const NamedPolicy one = std::move(*make_policy("best", options, kPaidStops, *queue.platform));
  Plan plan;
  for (std::size_t j = 1; j <= 8; ++j) {
    queue.arrive(1);
    plan.clear();
    one.policy->decide(queue.cluster, plan);
    EXPECT_EQ(plan.empty(), j < 7) << j << " jobs wait";
  }
}

TEST(Best, IsMadeForBothCostModels) {
  const auto platform = fixture::platform("2xa100-40gb");
  for (const CostModel& cost : {CostModel{}, kPaidStops}) {
    const auto made = make_policy("best", {}, cost, *platform);
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_EQ(made->name, "best");
  }
}

}  // namespace
}  // namespace smartmig
