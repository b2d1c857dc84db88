#include "research/explain/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

Setting explained_setting() {
  Setting setting;
  setting.platform = std::make_shared<const Platform>(Platform::parse("8xa100-40gb").value());
  setting.workload = "paper:20x,hours=6-10";
  return setting;
}

ExplainOptions few_days(int threads = 1) {
  ExplainOptions options;
  options.seeds = {200'000, 200'001};
  options.fit_seeds = {100'000, 100'001};
  options.threads = threads;
  return options;
}

TEST(DecisionTable, FindsTheRuleThatIsThere) {
  Rng rng(3);
  std::vector<TableSample> samples;
  for (int i = 0; i < 2000; ++i) {
    TableSample s{{}, {0, 0, 0}};
    for (double& x : s.state) x = rng.uniform(0, 10);
    s.share[s.state[kLate] < 4 ? 0 : (s.state[kHour] < 7 ? 1 : 2)] = 1;
    samples.push_back(s);
  }
  const DecisionTable table = fit_table(samples, {});
  EXPECT_EQ(table.leaves(), 3u);
  EXPECT_EQ(table.depth(), 2);
  EXPECT_EQ(table.nodes[0].feature, kLate);
  EXPECT_NEAR(table.nodes[0].threshold, 4, 0.05);
  const Fidelity fidelity = fidelity_of(table, samples);
  EXPECT_NEAR(fidelity.agreement, 1, 1e-3);
  EXPECT_NEAR(fidelity.explained, 1, 1e-3);
  TableOptions one_row;
  one_row.depth = 0;
  const Fidelity constant = fidelity_of(fit_table(samples, one_row), samples);
  EXPECT_LT(constant.agreement, 0.6);
  EXPECT_NEAR(constant.explained, 0, 1e-9);
}

TEST(DecisionTable, NoiseIsNotSplit) {
  Rng rng(4);
  std::vector<TableSample> samples;
  for (int i = 0; i < 5000; ++i) {
    TableSample s{{}, {0, 0}};
    for (double& x : s.state) x = rng.uniform();
    s.share[rng.below(2)] = 1;
    samples.push_back(s);
  }
  EXPECT_EQ(fit_table(samples, {.depth = 4, .least_share = 0.01, .least_gain = 0.01}).leaves(), 1u);
}

TEST(Explain, AFixedPartitionIsItsOwnTable) {
  const auto e = explain_policy(explained_setting(), contender_of("static[1,1,2,3,3,5,5,10]+cedf", {}), few_days());
  ASSERT_TRUE(e) << e.error().what;
  EXPECT_EQ(e->table.leaves(), 1u);
  EXPECT_NEAR(e->fidelity.agreement, 1, 1e-6);
  EXPECT_DOUBLE_EQ(e->reshapes, 0);
  EXPECT_DOUBLE_EQ(e->table_loss.mean, 0);  // the table keeps what is there, so it is the policy
  const double expected[12] = {2, 1, 2, 0, 2, 0, 0, 0, 0, 1, 0, 0};
  for (std::size_t l = 0; l < 12; ++l) {
    EXPECT_NEAR(e->time_share[l], expected[l] / 8, 1e-12);
    EXPECT_NEAR(e->call_share[l], expected[l] / 8, 1e-6);
  }
  EXPECT_GT(e->sublinearity, 0.5);
  EXPECT_LT(e->sublinearity_high, 1.001);
}

TEST(Explain, SharesAddUpAndTheHourExplainsTwiceDaily) {
  const auto e = explain_policy(explained_setting(), contender_of("twice+cedf", {}), few_days());
  ASSERT_TRUE(e) << e.error().what;
  EXPECT_NEAR(std::accumulate(e->time_share.begin(), e->time_share.end(), 0.0), 1, 1e-9);
  for (const ShareTable& table : e->tables) {
    double hours = 0;
    for (const ShareBin& bin : table.bins) {
      EXPECT_NEAR(std::accumulate(bin.share.begin(), bin.share.end(), 0.0), 1, 1e-9) << table.title;
      hours += bin.gpu_hours;
    }
    EXPECT_GT(hours, 8 * 3.5) << table.title;  // four hours of arrivals and the rest of the work
    EXPECT_LT(hours, 8 * 12.0) << table.title;
  }
  EXPECT_EQ(e->table.nodes[0].feature, kHour);
  EXPECT_GT(e->fidelity.agreement, 0.99);
  EXPECT_LT(std::abs(e->table_loss.percent), 3);
  EXPECT_GT(e->fidelity.agreement, e->constant_fidelity.agreement);
}

TEST(Explain, ParallelDaysGiveTheSameNumbers) {
  const auto one = explain_policy(explained_setting(), contender_of("twice+cedf", {}), few_days(1));
  const auto two = explain_policy(explained_setting(), contender_of("twice+cedf", {}), few_days(3));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->time_share, two->time_share);
  EXPECT_EQ(one->et, two->et);
  EXPECT_EQ(one->table_loss.mean, two->table_loss.mean);
}

TEST(Explain, AMixedFleetKeepsItsModelsApart) {
  Setting setting = explained_setting();
  setting.platform =
      std::make_shared<const Platform>(Platform::parse("6xa100-40gb,2xa30-24gb", "linear:30:20:300").value());
  setting.workload = "paper:12x,hours=6-8";
  const auto e = explain_policy(setting, contender_of("none+edf", {}), few_days());
  ASSERT_TRUE(e) << e.error().what;
  EXPECT_DOUBLE_EQ(e->table_loss.mean, 0);
  double a100 = 0;
  for (std::size_t l = 0; l < e->layouts.size(); ++l)
    if (e->layouts[l].model == 0) a100 += e->time_share[l];
  EXPECT_NEAR(a100, 0.75, 1e-12);
}

TEST(QueueProbe, SublinearityOfLinearAndCappedJobs) {
  for (const auto& [mix, low, high] : {std::tuple{"linear", 0.99, 1.01}, std::tuple{"capped", 0.5, 0.65}}) {
    Setting setting = explained_setting();
    setting.workload = std::string("fixed:rate=8,jobs=200,mix=") + mix;
    const auto day = make_day(setting, 1);
    ASSERT_TRUE(day) << day.error().what;
    QueueProbe probe(*setting.platform);
    // Everything has arrived at once in a cluster that is told so.
    Cluster cluster(
        setting.platform, day->jobs, setting.cost,
        initial_layouts(*setting.platform, std::vector<Shape>(8, paper_shapes(*setting.platform->models()[0].gpu)[0]))
            .value());
    for (std::size_t j = 0; j < day->jobs->size(); ++j) {
      Event event;
      event.kind = EventKind::kSubmitted;
      event.job = JobId(j);
      event.at = day->jobs->job(JobId(j)).submit;
      cluster.apply(event);
    }
    const QueueState state = probe.look(cluster);
    EXPECT_GT(state[kSublinearity], low) << mix;
    EXPECT_LT(state[kSublinearity], high) << mix;
    EXPECT_DOUBLE_EQ(state[kUnfinished], double(day->jobs->size()) / 8);
  }
}

}  // namespace
}  // namespace smartmig
