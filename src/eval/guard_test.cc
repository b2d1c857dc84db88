#include <gtest/gtest.h>

#include "eval/experiment.h"
#include "eval/policy_stack.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

Setting setting_of(const char* workload) {
  Setting setting;
  setting.platform = fixture::platform("8xa100-40gb");
  setting.workload = workload;
  return setting;
}

double et_of(const Setting& setting, const char* policy, const Day& day) {
  const auto summary = run_day(setting, contender_of(policy, {}), day);
  EXPECT_TRUE(summary) << summary.error().what;
  return summary ? summary->et : 0;
}

TEST(Guard, DecidesInsteadOfAPolicyThatIsFarBehind) {
  // Whole GPUs at 20x drown; the searched partition does not, and the guard sees that within hours.
  const Setting setting = setting_of("paper:20x");
  const auto day = make_day(setting, 11);
  ASSERT_TRUE(day);
  const double alone = et_of(setting, "none+fifo", *day), watched = et_of(setting, "guard(none+fifo)", *day);
  EXPECT_LT(watched, 0.5 * alone);
}

TEST(Guard, LeavesAGoodPolicyAlone) {
  const Setting setting = setting_of("paper:16x");
  const auto day = make_day(setting, 12);
  ASSERT_TRUE(day);
  EXPECT_DOUBLE_EQ(et_of(setting, "market", *day), et_of(setting, "guard(market)", *day));
}

TEST(Guard, UnderHardwareCostsABadPolicyCostsLittle) {
  Setting setting = setting_of("paper:12x,hours=6-14");
  setting.cost = CostModel{CostModel::kHardware, {}};
  const auto day = make_day(setting, 13);
  ASSERT_TRUE(day);
  const double planner = et_of(setting, "planner", *day);
  EXPECT_GT(et_of(setting, "none+fifo", *day), 1.2 * planner);
  EXPECT_LE(et_of(setting, "guard(none+fifo)", *day), 1.05 * planner);
  EXPECT_LE(et_of(setting, "guard(planner)", *day), 1.05 * planner);
}

// Starts the first job on the first slice, or does nothing.
class OneStart : public Policy {
 public:
  explicit OneStart(bool starts) : starts_(starts) {}
  void decide(const Cluster& cluster, Plan& plan) override {
    if (starts_) plan.starts.push_back({cluster.first_unfinished(), GpuId(0), *cluster.gpus()[0].layout.begin()});
  }

 private:
  bool starts_;
};

TEST(Guard, APlainPolicyDecidesOnceAfterARefusalAndWhileItIsChosen) {
  const auto fleet = fixture::platform("1xa100-40gb");
  Cluster cluster(fleet, fixture::bind({fixture::job(0, 10, fixture::linear(5))}, *fleet), {},
                  fixture::layouts(*fleet, {"7g@0"}));
  cluster.begin_decision();
  cluster.apply(Event::submitted(Time{0}, JobId(0)));
  std::vector<NamedPolicy> candidates(2);
  candidates[0].policy = std::make_unique<OneStart>(false);
  candidates[1].policy = std::make_unique<OneStart>(true);
  Guard guard(std::move(candidates));
  const auto plain_decides = [&] {
    Plan plan;
    guard.decide(cluster, plan);
    return !plan.starts.empty();
  };
  EXPECT_FALSE(plain_decides());
  cluster.end_decision(true);  // something of it was refused
  cluster.begin_decision();
  EXPECT_TRUE(plain_decides());
  cluster.end_decision(false);
  cluster.begin_decision();
  EXPECT_FALSE(plain_decides());
  guard.use(1);
  EXPECT_TRUE(plain_decides());
  EXPECT_TRUE(plain_decides());
  guard.use(0);
  EXPECT_FALSE(plain_decides());
  EXPECT_EQ(guard.fallbacks(), 2u);
}

TEST(Guard, RefusesWhatItCannotWatch) {
  const auto platform = fixture::platform("8xa100-40gb");
  const auto open = PolicyStack::make({"guard(planner", {}, {}}, platform);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().what.find("not closed"), std::string::npos);
  const auto unknown = PolicyStack::make({"guard(plannner)", {}, {}}, platform);
  EXPECT_FALSE(unknown);
}

}  // namespace
}  // namespace smartmig
