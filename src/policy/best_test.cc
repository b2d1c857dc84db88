#include "policy/best.h"

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
  MixedQueue queue({fixture::job(0, -1, fixture::linear(10)), fixture::job(0, 30, fixture::linear(10))});
  Plan plan;
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(plan.empty());
  queue.cluster.apply(Event::started(Time{0}, JobId(1), GpuId(0), fixture::slice(*queue.platform, 0, "7g@0")));
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 1) << "what runs needs no decision: batch plans the rest";
}

TEST(Best, ADeadlineThatWasMadeUpIsNone) {
  int asked = 0;
  BestPolicy policy(std::make_unique<MarkingPolicy>(asked));
  Job job = fixture::job(0, 30, fixture::linear(10));
  job.deadline_made_up = true;
  MixedQueue queue({job});
  Plan plan;
  policy.decide(queue.cluster, plan);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(plan.starts.size(), 1u);
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
