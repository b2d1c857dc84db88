#include "model/power.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

const GpuModel& gpu(const char* name) { return **Catalog::builtin().find(name); }
const Profile& profile(const GpuModel& model, std::string_view name) {
  return model.profiles()[std::size_t(model.find_profile(name))];
}
PowerModel named(std::string_view name, const char* model) {
  auto power = PowerModel::named(name, gpu(model));
  EXPECT_TRUE(power) << power.error().what;
  return *power;
}

TEST(Power, PaperTable) {
  const PowerModel paper = named("paper", "a100-40gb");
  const double expected[] = {40, 119, 160, 205.3, 243.9, 247.7, 248.5, 248.5};
  for (int k = 0; k <= 7; ++k) EXPECT_EQ(paper.watts(k, 1000), expected[k]);
  EXPECT_TRUE(paper.is_table());
  EXPECT_EQ(paper.idle(), 40);
  EXPECT_EQ(paper.cap(), 250);
  EXPECT_EQ(paper.added("bert-train-8", profile(gpu("a100-40gb"), "7g")), 0);
}

TEST(Power, AutoIsTheMeasuredBoardOrARoughGuessFromItsLimit) {
  EXPECT_EQ(named("auto", "a100-40gb").name(), "paper");
  EXPECT_EQ(named("auto", "a100-80gb").name(), "paper");
  EXPECT_EQ(named("auto", "h200-141gb").name(), "h200");
  EXPECT_EQ(named("auto", "h100-94gb").name(), "h100-nvl");
  const PowerModel rough = named("auto", "b200-180gb");
  EXPECT_TRUE(rough.rough());
  EXPECT_EQ(rough.name(), "board-1000w");
  EXPECT_DOUBLE_EQ(rough.idle(), 170);
  EXPECT_DOUBLE_EQ(rough.watts(7, 7 * rough.added("any", profile(gpu("b200-180gb"), "1g"))), 1000);
  EXPECT_FALSE(named("auto", "a100-40gb").rough());
  EXPECT_NE(PowerModel::named("papre", gpu("a100-40gb")).error().what.find("a100-sxm"), std::string::npos);
  EXPECT_NE(PowerModel::named("paper", gpu("a30-24gb")).error().what.find("a30-24gb has 4"), std::string::npos);
}

TEST(Power, EveryGpuModelHasWatts) {
  for (const auto& model : Catalog::builtin().models()) {
    SCOPED_TRACE(model->name());
    const auto power = PowerModel::named("auto", *model);
    ASSERT_TRUE(power) << power.error().what;
    EXPECT_GT(power->idle(), 0);
    EXPECT_GT(power->cap(), power->idle());
    // The name stands in journals and certificates: it means the same watts again.
    const auto again = PowerModel::named(power->name(), *model);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(again->idle(), power->idle());
    EXPECT_EQ(again->rough(), power->rough());
  }
}

TEST(Power, FittedWattsAreReadByName) {
  const PowerModel fitted = named("fitted:88.2:120:31.5:700", "h100-80gb-sxm");
  EXPECT_EQ(fitted.idle(), 88.2);
  EXPECT_EQ(fitted.watts(2, 63), 183);
  EXPECT_FALSE(fitted.rough());
  for (const char* bad : {"fitted:", "fitted:1:2:3", "fitted:9:2:3:4", "fitted:1:2:x:4", "fitted:1:2:-3:4"})
    EXPECT_FALSE(PowerModel::named(bad, gpu("a100-40gb"))) << bad;
}

TEST(Power, EveryModelIsMonotoneCappedAndSourced) {
  for (const char* name : {"paper", "a100-sxm", "a100-jobs", "h200", "h100-nvl", "linear:50:60:300"}) {
    SCOPED_TRACE(name);
    const GpuModel& model = gpu("h200-141gb");
    const PowerModel power = named(name, "h200-141gb");
    EXPECT_FALSE(power.source().empty());
    EXPECT_GT(power.idle(), 0);
    EXPECT_EQ(power.watts(0, 0), power.idle());
    double added = 0, before = power.idle();
    for (int k = 1; k <= 7; ++k) {
      added += power.added("something else", profile(model, "1g"));
      const double watts = power.watts(k, added);
      EXPECT_GE(watts, before);
      EXPECT_LE(watts, power.cap());
      before = watts;
    }
    for (const Profile& p : model.profiles()) EXPECT_GE(power.added("resnet50-infer-1", p), 0);
  }
}

TEST(Power, JobDependentA100DrawsWhatWasMeasured) {
  const GpuModel& model = gpu("a100-40gb");
  const PowerModel jobs = named("a100-jobs", "a100-40gb");
  EXPECT_NEAR(jobs.watts(7, jobs.added("bert-train-8", profile(model, "7g"))), 234.83, 1e-9);
  EXPECT_NEAR(jobs.watts(7, jobs.added("mobilenet-train-64", profile(model, "7g"))), 66.85, 1e-9);
  EXPECT_NEAR(jobs.watts(1, jobs.added("mobilenet-train-64", profile(model, "1g"))), 40 + 26.85 / 7, 1e-9);
  EXPECT_EQ(jobs.watts(7, jobs.added("no such kind", profile(model, "7g"))), 250);
}

TEST(Power, A100SxmFollowsItsMedians) {
  const PowerModel sxm = named("a100-sxm", "a100-40gb");
  const double medians[] = {75.4, 127.7, 187.7, 245.8, 303.1, 362.2, 398.2, 398.2};  // 1g instances added one by one
  for (int k = 0; k <= 7; ++k)
    EXPECT_NEAR(sxm.watts(k, k * sxm.added("", profile(gpu("a100-40gb"), "1g"))), medians[k], 11) << k;
  EXPECT_EQ(sxm.watts(7, sxm.added("", profile(gpu("a100-40gb"), "7g"))), 400);
}

TEST(Power, H200ReproducesSingleCopies) {
  const GpuModel& model = gpu("h200-141gb");
  const PowerModel h200 = named("h200", "h200-141gb");
  EXPECT_EQ(h200.watts(0, 0), 88.2);
  EXPECT_NEAR(h200.watts(1, h200.added("gemm-bf16", profile(model, "1g.18gb"))), 247.4, 1e-9);
  EXPECT_NEAR(h200.watts(1, h200.added("gemm-bf16", profile(model, "1g.35gb"))), 352.6,
              1e-9);  // more SMs than the plain 1g
  EXPECT_NEAR(h200.watts(7, h200.added("llm-decode-8", profile(model, "7g"))), 427.6, 1e-9);
  EXPECT_EQ(h200.watts(7, 7 * h200.added("gemm-bf16", profile(model, "1g"))), 700);
  EXPECT_NEAR(h200.added("unknown", profile(model, "1g")) + 120.76,
              (247.4 + 276.5 + 208.1 + 173.4 + 213.4 + 240.5 + 132.3) / 7, 1e-9);
  // Measured with four concurrent 1g-sized copies: 464.7 W and 414.4 W.
  EXPECT_NEAR(h200.watts(4, 4 * h200.added("bert-train-32", profile(model, "1g"))), 464.7, 30);
  EXPECT_NEAR(h200.watts(4, 4 * h200.added("resnet50-train-64", profile(model, "1g"))), 414.4, 60);
}

TEST(Power, LinearIsCheckedStrictly) {
  const PowerModel linear = named("linear:75:56:400", "b200-180gb");
  EXPECT_EQ(linear.watts(0, 0), 75);
  EXPECT_EQ(linear.watts(3, linear.added("x", profile(gpu("b200-180gb"), "3g"))), 75 + 168);
  EXPECT_EQ(linear.watts(7, linear.added("x", profile(gpu("b200-180gb"), "7g"))), 400);
  for (const char* bad : {"linear:", "linear:1:2", "linear:1:2:3:4", "linear:nan:1:2", "linear:1:inf:2",
                          "linear:-1:1:2", "linear:10:1:5", "linear:1:-1:5", "linear:a:b:c"})
    EXPECT_FALSE(PowerModel::named(bad, gpu("a100-40gb"))) << bad;
}

}  // namespace
}  // namespace smartmig
