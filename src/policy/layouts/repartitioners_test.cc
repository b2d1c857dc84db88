#include "policy/layouts/repartitioners.h"

#include <gtest/gtest.h>

#include "policy/placing/placing_rules.h"
#include "support/placing_scene.h"

namespace smartmig {
namespace {

using fixture::job;
using fixture::linear;
using fixture::PlacingScene;

Shape shape(const Platform& platform, const char* text) { return parse_shape(*platform.models()[0].gpu, text).value(); }
Time hours(double h) { return from_seconds(h * 3600); }

TEST(WholeGpus, OnePlainSliceOfTheWholeBoard) {
  const auto platform = fixture::platform("1xa100-40gb,1xa30-24gb,1xrtx-pro-6000-blackwell-96gb", "linear:40:30:250");
  const auto shapes = whole_gpus(*platform);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(to_string(*platform->model(GpuId(0)).gpu, shapes[0]), "7g.40gb");
  EXPECT_EQ(to_string(*platform->model(GpuId(1)).gpu, shapes[1]), "4g.24gb");
  EXPECT_EQ(to_string(*platform->model(GpuId(2)).gpu, shapes[2]), "4g.96gb");
}

TEST(TwiceDaily, HoursOfTheDay) {
  TwiceDaily::Schedule s;
  s.day_begin = 8;
  s.night_begin = 20;
  EXPECT_FALSE(s.is_day(hours(0)));
  EXPECT_FALSE(s.is_day(hours(8) - Time(1)));
  EXPECT_TRUE(s.is_day(hours(8)));
  EXPECT_FALSE(s.is_day(hours(20)));
  EXPECT_TRUE(s.is_day(hours(24 * 5 + 12)));
  s.day_begin = 22;  // over midnight
  s.night_begin = 6;
  EXPECT_TRUE(s.is_day(hours(23)));
  EXPECT_TRUE(s.is_day(hours(5.9)));
  EXPECT_FALSE(s.is_day(hours(6)));
  s.night_begin = 22;
  EXPECT_TRUE(s.is_day(hours(7)));  // equal: always day
}

// The target becomes what was asked for, at once.
void carry_out(Cluster& cluster, const std::vector<std::pair<GpuId, Shape>>& wanted) {
  for (const auto& [gpu, shape] : wanted)
    cluster.apply(
        Event::reshape_asked(cluster.now(), gpu, *cluster.platform().model(gpu).shapes->realise(shape, {}, {})));
}

TEST(FixedShapes, AsksWhereverTheTargetDiffers) {
  const auto platform = fixture::platform("2xa100-40gb");
  const Shape halves = shape(*platform, "3g+3g");
  FixedShapes fixed({halves, halves});
  Cluster cluster(platform, fixture::bind({job(0, -1, linear(1))}, *platform), {CostModel::kHardware, {}},
                  fixture::layouts(*platform, {"3g@0+3g@4", "7g@0"}));
  const auto asked = [&] {
    std::vector<std::pair<GpuId, Shape>> wanted;
    fixed.retarget(cluster, wanted);
    return wanted;
  };
  const std::vector<std::pair<GpuId, Shape>> second{{GpuId(1), halves}};
  EXPECT_EQ(asked(), second);
  EXPECT_EQ(asked(), second);  // as long as nobody does it
  carry_out(cluster, asked());
  EXPECT_TRUE(asked().empty());
  cluster.apply(Event::reshape_asked(cluster.now(), GpuId(0), fixture::layout(*platform, 0, "7g@0")));
  EXPECT_EQ(asked(), (std::vector<std::pair<GpuId, Shape>>{{GpuId(0), halves}}));  // somebody else changed it
}

TEST(TwiceDaily, AsksAtEachChange) {
  const auto platform = fixture::platform("1xa100-40gb");
  const Shape night = shape(*platform, "7g"), day = shape(*platform, "4g+3g");
  std::vector<Job> jobs;
  for (const double hour : {1, 7, 9, 15, 21, 22, 32}) jobs.push_back(job(hour * 60, -1, linear(1)));
  const auto table = fixture::bind(jobs, *platform);
  const auto asked = [&](TwiceDaily& twice) {
    Cluster cluster(platform, table, {}, fixture::layouts(*platform, {"7g@0"}));
    std::vector<std::string> out;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      cluster.apply(Event::submitted(jobs[j].submit, JobId(j)));
      std::vector<std::pair<GpuId, Shape>> wanted;
      twice.retarget(cluster, wanted);
      carry_out(cluster, wanted);
      for (const auto& [gpu, what] : wanted)
        out.push_back(fmt::format("{} {}", minutes(cluster.now()) / 60, to_string(*platform->models()[0].gpu, what)));
    }
    return out;
  };
  TwiceDaily twice({{day}, {night}, 8, 20});
  EXPECT_EQ(twice.initial(), std::vector<Shape>{night});
  const std::vector<std::string> expected{"9 4g.20gb+3g.20gb", "21 7g.40gb", "32 4g.20gb+3g.20gb"};
  EXPECT_EQ(asked(twice), expected);
  EXPECT_EQ(asked(twice), expected);  // a new run with the same object begins afresh, though the last one ended by day
}

// A repartitioner that wants one shape from its second decision on.
class Wants : public Repartitioner {
 public:
  Wants(Shape first, Shape then) : first_(first), then_(then) {}
  std::vector<Shape> initial() const override { return {first_}; }
  void retarget(const Cluster&, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    wanted.emplace_back(GpuId(0), then_);
  }

 private:
  Shape first_, then_;
};

Plan decide(PlacingScene& d, const char* want) {
  PairPolicy policy(std::make_unique<Wants>(Shape{}, shape(*d.platform, want)),
                    std::make_unique<PlainPlacer>(make_edf_rule()));
  Plan plan;
  policy.decide(d.cluster, plan);
  return plan;
}

TEST(PairPolicy, RealiseKeepsBusyPlacementsUnderHardwareCosts) {
  // 3g+2g+2g fits with the 3g on either half. The job on 3g@4 keeps its slice, and the job that waits gets nothing:
  // 3g@0 goes.
  PlacingScene d("1xa100-40gb", {"3g@0+3g@4"}, {job(0, 100, linear(1)), job(0, 100, linear(1))},
                 {CostModel::kHardware, {}});
  d.start(0, 0, "3g@4");
  const Plan plan = decide(d, "3g+2g+2g");
  ASSERT_EQ(plan.reshapes.size(), 1u);
  EXPECT_EQ(plan.reshapes[0].to, fixture::layout(*d.platform, 0, "2g@0+2g@2+3g@4"));
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_TRUE(plan.stops.empty());
  // The mirror image.
  PlacingScene e("1xa100-40gb", {"3g@0+3g@4"}, {job(0, 100, linear(1)), job(0, 100, linear(1))},
                 {CostModel::kHardware, {}});
  e.start(0, 0, "3g@0");
  EXPECT_TRUE(decide(e, "3g+2g+1g").reshapes.at(0).to.contains(fixture::slice(*e.platform, 0, "3g@0")));
}

TEST(PairPolicy, KeepsWhatCanBeUsedWhileReshaping) {
  // 4g+3g to 4g+2g+1g under hardware costs: the 4g stays and takes the job at once.
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 100, linear(1))}, {CostModel::kHardware, {}});
  const Plan plan = decide(d, "4g+2g+1g");
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].where, fixture::slice(*d.platform, 0, "4g@0"));
}

TEST(PairPolicy, UnderPaperCostsThePlanUsesTheNewLayoutAtOnce) {
  PlacingScene d("1xa100-40gb", {"7g@0"}, {job(0, 100, linear(1))});
  d.start(0, 0, "7g@0");
  const Plan plan = decide(d, "4g+3g");
  EXPECT_EQ(plan.stops, std::vector<JobId>{JobId(0)});
  EXPECT_EQ(plan.reshapes.at(0).to, fixture::layout(*d.platform, 0, "4g@0+3g@4"));
  EXPECT_EQ(plan.starts.at(0).where, fixture::slice(*d.platform, 0, "3g@4"));
}

TEST(PairPolicy, AskingForWhatIsThereChangesNothing) {
  PlacingScene d("1xa100-40gb", {"4g@0+3g@4"}, {job(0, 100, linear(1))});
  EXPECT_TRUE(decide(d, "4g+3g").reshapes.empty());
}

}  // namespace
}  // namespace smartmig
