// Each placing rule on a case small enough to solve in a comment.
#include "policy/placing/placing_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "support/placing_scene.h"

namespace smartmig {
namespace {

using fixture::job;
using fixture::linear;
using fixture::PlacingScene;
using fixture::Work;
using Choices = std::vector<std::string>;

constexpr double kNoDeadline = -1;

TEST(EdfRule, TheSmallestSliceThatMeetsTheDeadline) {
  // A job of 1 min on 7g needs 7, 3.5 and 1.75 min on 1g, 2g and 4g.
  const auto pick = [](double deadline) {
    const auto rule = make_edf_rule();
    return PlacingScene("1xa100-40gb", {"4g@0+2g@4+1g@6"}, {job(0, deadline, linear(1))}).choices(*rule).at(0);
  };
  EXPECT_EQ(pick(7), "0>0:1g.5gb@6");  // to the microsecond is on time
  EXPECT_EQ(pick(6.99), "0>0:2g.10gb@4");
  EXPECT_EQ(pick(2), "0>0:4g.20gb@0");
  EXPECT_EQ(pick(1), "0>0:4g.20gb@0");  // none is on time: the earliest finish
  EXPECT_EQ(pick(kNoDeadline), "0>0:1g.5gb@6");
}

TEST(EdfRule, JobsByDeadlineThenId) {
  const Work w = linear(1);
  PlacingScene d("1xa100-40gb", {"1g@0+1g@1+1g@2"}, {job(0, 30, w), job(0, 20, w), job(0, 20, w)});
  EXPECT_EQ(d.choices(*make_edf_rule()), (Choices{"1>0:1g.5gb@0", "2>0:1g.5gb@1", "0>0:1g.5gb@2"}));
  EXPECT_EQ(d.choices(*make_fifo_rule()), (Choices{"0>0:1g.5gb@0", "1>0:1g.5gb@1", "2>0:1g.5gb@2"}));
}

TEST(EdfRule, FullestGpuFirstCountedAnewAfterEveryAssignment) {
  // Job 0 runs on 4g only and takes GPU 1; that makes GPU 1 the fullest (4/7), so job 1, which runs on 3g only, joins
  // it although GPU 0 has a 3g, too. Job 2 then finds GPU 1 full.
  const Work only4{-1, -1, -1, 5, -1}, only3{-1, -1, 5, -1, -1};
  PlacingScene d("2xa100-40gb", {"3g@0+3g@4", "4g@0+3g@4"}, {job(0, 10, only4), job(0, 20, only3), job(0, 30, only3)});
  EXPECT_EQ(d.choices(*make_edf_rule()), (Choices{"0>1:4g.20gb@0", "1>1:3g.20gb@4", "2>0:3g.20gb@0"}));
}

TEST(EdfRule, TheFractionIsOverTheSlicesOfTheLayout) {
  // After two jobs GPU 0 (4g+3g) has 3 of 7 slices taken and GPU 1 (layout 5, 3g+3g) 3 of 6: 1/2 > 3/7, so job 2 goes
  // to GPU 1. Counted over 7 the two would tie and GPU 0 would win.
  const Work only3{-1, -1, 5, -1, -1};
  PlacingScene d("2xa100-40gb", {"4g@0+3g@4", "3g@0+3g@4"},
                 {job(0, 10, only3), job(0, 20, only3), job(0, 30, linear(1))});
  EXPECT_EQ(d.choices(*make_edf_rule()), (Choices{"0>0:3g.20gb@4", "1>1:3g.20gb@0", "2>1:3g.20gb@4"}));
}

TEST(EdfRule, TheFallbackTakesTheFirstStrictlyEarliestFinish) {
  // A capped job is as fast on 3g, 4g and 7g; late everywhere it takes the first of them in the scan: GPU 0 before GPU
  // 1, and 3g before 4g.
  const Work capped{30, 15, 10, 10, 10};
  EXPECT_EQ(PlacingScene("2xa100-40gb", {"4g@0+3g@4", "7g@0"}, {job(0, 1, capped)}).choices(*make_edf_rule()),
            (Choices{"0>0:3g.20gb@4"}));
  EXPECT_EQ(PlacingScene("2xa100-40gb", {"7g@0", "4g@0+3g@4"}, {job(0, 1, capped)}).choices(*make_edf_rule()),
            (Choices{"0>0:7g.40gb@0"}));
  // Strictly earlier wins whatever the scan order.
  EXPECT_EQ(PlacingScene("2xa100-40gb", {"4g@0+3g@4", "7g@0"}, {job(0, 1, linear(10))}).choices(*make_edf_rule()),
            (Choices{"0>1:7g.40gb@0"}));
}

TEST(EdfRule, OnTimeOnAnotherGpuBeatsLateOnTheFullest) {
  // GPU 0 is the fullest after job 0, but only the 7g of GPU 1 is on time for job 1.
  const Work only4{-1, -1, -1, 5, -1};
  PlacingScene d("2xa100-40gb", {"4g@0+3g@4", "7g@0"}, {job(0, 5, only4), job(0, 10, linear(10))});
  EXPECT_EQ(d.choices(*make_edf_rule()), (Choices{"0>0:4g.20gb@0", "1>1:7g.40gb@0"}));
}

TEST(EdfRule, ProgressCounts) {
  // Half done on 7g, 5 min are left there and 35 on 1g: from 5 on, a deadline at 40 is met on 1g.
  PlacingScene e("2xa100-40gb", {"7g@0", "1g@0"}, {job(0, 40, linear(10))});
  e.start(0, 0, "7g@0");
  EXPECT_EQ(e.choices(*make_edf_rule()), (Choices{"0>0:7g.40gb@0"}));  // at 0: 70 min on 1g are too many
  Cluster& c = e.cluster;
  c.apply(Event::stopped(fixture::min(5), JobId(0)));
  e.usable.layout = fixture::layouts(*e.platform, {"empty", "1g@0"});
  e.usable.version = 2;
  EXPECT_EQ(c.finish_on(JobId(0), e.platform->type_of(GpuId(1), fixture::slice(*e.platform, 1, "1g@0"))),
            fixture::min(40));
  EXPECT_EQ(e.choices(*make_edf_rule()), (Choices{"0>1:1g.5gb@0"}));
}

TEST(CedfRule, ClassesOfThePapersFourKinds) {
  const auto class_of = [](const Work& w) {
    const auto platform = fixture::platform("1xa100-40gb");
    return CedfClasses(*platform).of(*fixture::bind({job(0, 1, w)}, *platform), JobId(0));
  };
  const auto from_speeds = [&](double t1, double t2, double t3, double t4, double t7) {
    return class_of({100 / t1, 100 / t2, 100 / t3, 100 / t4, 100 / t7});
  };
  EXPECT_EQ(from_speeds(2.2, 4.1, 5.8, 7.1, 10.5), 1);   // BERT training: 7.1 / 10.5 = 0.68
  EXPECT_EQ(from_speeds(3.4, 6, 7.85, 8.4, 9.75), 2);    // ResNet-50 training: 8.4 / 9.75 = 0.86, 6 / 9.75 = 0.62
  EXPECT_EQ(from_speeds(1, 2, 3, 4, 7), 1);              // BERT inference: 4 / 7
  EXPECT_EQ(from_speeds(3.2, 6.4, 9.6, 12.5, 18.4), 1);  // ResNet-50 inference: 12.5 / 18.4 = 0.68
  EXPECT_EQ(from_speeds(0.7, 0.9, 1, 1, 1), 3);
  EXPECT_EQ(from_speeds(0.9, 1, 1, 1, 1), 4);
  EXPECT_EQ(class_of({10, 10, 10, 10, 8}), 4);  // exactly 0.8 is not below 0.8
  EXPECT_EQ(class_of({10, 10, 10, 10, 7.99}), 1);
  EXPECT_EQ(class_of({10, 10, 10, -1, 9}), 1);   // does not run on 4g: throughput 0 there
  EXPECT_EQ(class_of({10, 10, 10, 10, -1}), 4);  // does not run on 7g
}

TEST(CedfRule, ClassesOnAFourSliceGpu) {
  const auto platform = fixture::platform("1xa30-24gb", "linear:40:30:165");
  const auto class_of = [&](const Work& w) {
    return CedfClasses(*platform).of(*fixture::bind({job(0, 1, w)}, *platform), JobId(0));
  };
  EXPECT_EQ(class_of({40, 20, -1, 10, -1}), 1);  // the ladder is 2, 1: 2g has half of the whole GPU
  EXPECT_EQ(class_of({40, 11, -1, 10, -1}), 2);
  EXPECT_EQ(class_of({11, 11, -1, 10, -1}), 3);
}

TEST(CedfRule, ByClassThenDeadlineAndLargeSlicesFirst) {
  // GPUs by mean slice size: 7g (7), 4g+3g (3.5), 2g+2g+2g (2). Job 0 is of class 4 and comes last, though it is most
  // urgent; of class 1 job 2 is before job 1. All have time, so each takes the first slice of the scan that is left.
  PlacingScene d("3xa100-40gb", {"2g@0+2g@2+2g@4", "7g@0", "4g@0+3g@4"},
                 {job(0, 100, {10, 10, 10, 10, 10}), job(0, 300, linear(10)), job(0, 200, linear(10))});
  EXPECT_EQ(d.choices(*make_cedf_rule()), (Choices{"2>1:7g.40gb@0", "1>2:3g.20gb@4", "0>2:4g.20gb@0"}));
}

TEST(CedfRule, MeanSliceSizeIsOverAllSlicesAndTiesGoByIndex) {
  // 3g+3g and 4g+2g have mean 3, 4g+3g has 3.5: GPU 2, then 0, then 1.
  const auto platform = fixture::platform("3xa100-40gb");
  EXPECT_EQ(gpus_by_mean_size(*platform, fixture::layouts(*platform, {"3g@0+3g@4", "4g@0+2g@4", "4g@0+3g@4"})),
            (std::vector<std::uint32_t>{2, 0, 1}));
}

TEST(MetRule, MarginalEnergyWhileTheOthersLeaveOneByOne) {
  // GPU 0 (4g+2g+1g) gets job 0 on 4g until 10 and job 1 on 1g until 5. Job 2 needs 14 min on its 2g, or 6 min on the
  // 7g of GPU 1, and is due at 6. With the papers' watts 40 119 160 205.3 243.9 247.7 248.5 248.5 the 2g draws extra
  //   0-5:  P(7) - P(5) = 0.8 W,   5-10: P(6) - P(4) = 4.6 W,   10-14: P(2) - P(0) = 120 W:   4 + 23 + 480 = 507 Wmin
  // and is 8 min late; the 7g draws 6 (P(7) - P(0)) = 1251 Wmin. They cost the same at weight 8 / (1251 - 507) =
  // 0.010753.
  const auto pick = [](double weight) {
    PlacingScene d("2xa100-40gb", {"4g@0+2g@4+1g@6", "7g@0"},
                   {job(0, 1, {-1, -1, -1, 10, -1}), job(0, 2, {5, -1, -1, -1, -1}), job(0, 6, {-1, 14, -1, -1, 6})});
    return d.choices(*make_met_rule(weight)).at(2);
  };
  EXPECT_EQ(pick(0.01075), "2>1:7g.40gb@0");
  EXPECT_EQ(pick(0.01076), "2>0:2g.10gb@4");
  EXPECT_EQ(pick(0), "2>1:7g.40gb@0");
}

TEST(MetRule, CountsRunningJobsUnderHardwareCosts) {
  // Job 0 runs on the 4g of GPU 0 until 10. Job 1 needs 14 min on a 3g: beside job 0 it draws 10 (P(7) - P(4)) + 4
  // (P(3) - P(0)) = 46 + 661.2 Wmin, on the idle GPU 1 14 (P(3) - P(0)) = 2314.2 Wmin.
  PlacingScene d("2xa100-40gb", {"4g@0+3g@4", "3g@0"},
                 {job(0, 1, {-1, -1, -1, 10, -1}), job(0, 100, {-1, -1, 14, -1, -1})}, {CostModel::kHardware, {}});
  d.start(0, 0, "4g@0");
  EXPECT_EQ(d.choices(*make_met_rule(1e-3)), (Choices{"1>0:3g.20gb@4"}));
}

TEST(MetRule, TiesGoToTheFirstGpuAndTheSmallestSlice) {
  PlacingScene d("2xa100-40gb", {"3g@0+3g@4", "3g@0+3g@4"}, {job(0, 100, {-1, -1, 14, -1, -1})});
  EXPECT_EQ(d.choices(*make_met_rule(1e-3)), (Choices{"0>0:3g.20gb@0"}));
}

TEST(RandomRule, DrawsAreKeyedAndReachEverySliceThatFits) {
  PlacingScene d("2xa100-40gb", {"4g@0+2g@4+1g@6", "7g@0"}, {job(0, 20, {9, -1, -1, 9, 9})});
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto first = d.choices(*make_random_rule(seed));
    EXPECT_EQ(d.choices(*make_random_rule(seed)), first);
    seen.insert(first.at(0));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"0>0:1g.5gb@6", "0>0:4g.20gb@0", "0>1:7g.40gb@0"}));  // never the 2g
}

TEST(DedicatedRule, TheFirstGpusServeInference) {
  const std::vector<std::string> kinds{"bert-infer", "bert-train"};
  const Work w = linear(1);
  const std::vector<std::string> whole(4, "7g@0");
  const auto at = [&](int inference_gpus, std::vector<Job> jobs) {
    return PlacingScene("4xa100-40gb", whole, std::move(jobs), {}, kinds).choices(*make_dedicated_rule(inference_gpus));
  };
  // A quarter of four: one. The second inference job waits beside free GPUs.
  EXPECT_EQ(at(0, {job(0, 10, w, 0), job(0, 20, w, 0), job(0, 30, w, 1), job(0, 40, w, 1)}),
            (Choices{"0>0:7g.40gb@0", "1>-", "2>1:7g.40gb@0", "3>2:7g.40gb@0"}));
  EXPECT_EQ(at(2, {job(0, 10, w, 0), job(0, 20, w, 0), job(0, 30, w, 1)}),
            (Choices{"0>0:7g.40gb@0", "1>1:7g.40gb@0", "2>2:7g.40gb@0"}));
  EXPECT_EQ(at(9, {job(0, 10, w, 1)}), (Choices{"0>3:7g.40gb@0"}));  // one GPU is left for training
  EXPECT_EQ(at(0, {job(0, 10, w)}), (Choices{"0>1:7g.40gb@0"}));     // without a kind: not inference
  EXPECT_EQ(PlacingScene("1xa100-40gb", {"7g@0"}, {job(0, 10, w, 1)}, {}, kinds).choices(*make_dedicated_rule(0)),
            (Choices{"0>0:7g.40gb@0"}));
}

TEST(SingleRule, FastestAndSlowest) {
  // 1g, 2g and 4g take 7, 3.5 and 1.75 min.
  const auto pick = [](bool fastest, double deadline) {
    return PlacingScene("1xa100-40gb", {"4g@0+2g@4+1g@6"}, {job(0, deadline, linear(1))})
        .choices(*make_single_rule(false, fastest))
        .at(0);
  };
  EXPECT_EQ(pick(true, 100), "0>0:4g.20gb@0");
  EXPECT_EQ(pick(false, 100), "0>0:1g.5gb@6");
  EXPECT_EQ(pick(false, 5), "0>0:2g.10gb@4");
  EXPECT_EQ(pick(false, 1), "0>0:4g.20gb@0");  // none is on time
  EXPECT_EQ(pick(false, kNoDeadline), "0>0:1g.5gb@6");
}

TEST(SingleRule, LeastLaxityFirst) {
  // Laxity = deadline - now - time on the fastest slice: job 0 has 10 - 1 = 9, job 1 has 12 - 8 = 4, job 2 none at all.
  PlacingScene d("1xa100-40gb", {"3g@0+3g@4"},
                 {job(0, 10, linear(1)), job(0, 12, linear(8)), job(0, kNoDeadline, linear(8))});
  EXPECT_EQ(d.choices(*make_single_rule(true, true)), (Choices{"1>0:3g.20gb@0", "0>0:3g.20gb@4", "2>-"}));
  EXPECT_EQ(d.choices(*make_single_rule(false, true)), (Choices{"0>0:3g.20gb@0", "1>0:3g.20gb@4", "2>-"}));
}

TEST(Rules, AJobThatFitsNoFreeSliceIsPassedOver) {
  const Work only7{-1, -1, -1, -1, 5};
  for (const auto& make : {make_edf_rule, make_cedf_rule, make_fifo_rule}) {
    PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 10, only7), job(0, 100, linear(1))});
    EXPECT_EQ(d.choices(*make()).front(), "0>-");
    EXPECT_EQ(d.choices(*make()).back(), "1>0:3g.20gb@4");
  }
}

TEST(PlacingState, SlicesFromSmallToLarge) {
  const auto platform = fixture::platform("1xa100-40gb");
  const GpuModel& gpu = *platform->models()[0].gpu;
  std::vector<std::string> order;
  const Layout layout = fixture::layout(*platform, 0, "1g.10gb@6+1g@4+1g@5+2g@2+1g@0");
  for (PlacementId p : placements_small_to_large(gpu))
    if (layout.contains(p)) order.push_back(fixture::name(*platform, GpuId(0), p));
  EXPECT_EQ(order, (Choices{"0:1g.5gb@0", "0:1g.5gb@4", "0:1g.5gb@5", "0:1g.10gb@6", "0:2g.10gb@2"}));
}

}  // namespace
}  // namespace smartmig
