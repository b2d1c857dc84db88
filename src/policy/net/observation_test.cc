#include "policy/net/observation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::linear;

struct World {
  World(const char* spec, int copies) : platform(fixture::platform(spec, "paper")) {
    std::vector<Job> jobs;
    for (int i = 0; i < copies; ++i) {
      jobs.push_back(fixture::job(0, 0.1, linear(0.1)));     // p7 0.1, p1 0.7 min
      jobs.push_back(fixture::job(0, 12, linear(8)));        // p7 8, p1 56 min
      jobs.push_back(fixture::job(0, -1, {4, 4, 4, 4, 4}));  // no deadline, gains nothing from size
    }
    cluster.emplace(platform, fixture::bind(jobs, *platform), CostModel{},
                    std::vector<Layout>(platform->gpus(), fixture::layout(*platform, 0, "4g@0+3g@4")));
    for (std::size_t j = 0; j < jobs.size(); ++j) cluster->apply(Event::submitted(fixture::min(1), JobId(j)));
  }
  std::vector<float> see(Features features) {
    Observer observer(features, *platform, 0, controller_shapes(platform->models()[0]));
    std::vector<float> out(std::size_t(observer.inputs()));
    observer.observe(*cluster, out);
    late = observer.late();
    return out;
  }
  std::shared_ptr<const Platform> platform;
  std::optional<Cluster> cluster;
  Time late{};
};

TEST(Observation, ThePapersInputsAre53) {
  EXPECT_EQ(input_count(Features::kPaper, 12), 53);
  EXPECT_LT(input_count(Features::kRich, 12), 160);
}

TEST(Observation, HardwareInputsAreRichOnesAndWhatIsIdle) {
  World world("2xa100-40gb", 1);
  const auto see = [&] { return world.see(Features::kHardware); };
  const auto rich = world.see(Features::kRich);
  ASSERT_EQ(see().size(), rich.size() + 24);
  EXPECT_TRUE(std::equal(rich.begin(), rich.end(), see().begin()));
  const auto empty = [&](std::size_t layout) { return see()[rich.size() + layout]; };
  const auto idle = [&](std::size_t layout) { return see()[rich.size() + 12 + layout]; };
  EXPECT_FLOAT_EQ(empty(1), 1);
  EXPECT_FLOAT_EQ(idle(1), 1);
  world.cluster->apply(Event::started(fixture::min(1), JobId(1), GpuId(0), fixture::slice(*world.platform, 0, "4g@0")));
  EXPECT_FLOAT_EQ(empty(1), 0.5f);
  EXPECT_FLOAT_EQ(idle(1), 10.0f / 14);
  EXPECT_FLOAT_EQ(idle(0), 0);
}

TEST(Observation, PaperHistogramsByHand) {
  World world("2xa100-40gb", 1);
  const auto out = world.see(Features::kPaper);
  ASSERT_EQ(out.size(), 53u);
  EXPECT_EQ(out[1], 1.0f);  // every GPU in the paper's layout 2
  const auto bin = [&](int histogram, int b) { return out[std::size_t(12 + histogram * 10 + b)]; };
  // At minute 1: deadlines in -0.9, 11 and never.
  EXPECT_FLOAT_EQ(bin(0, 0), 1.0f / 3);
  EXPECT_FLOAT_EQ(bin(0, 7), 1.0f / 3);
  EXPECT_FLOAT_EQ(bin(0, 9), 1.0f / 3);
  // Large slices: 0.1, 8 and 4 minutes.
  EXPECT_FLOAT_EQ(bin(3, 2), 1.0f / 3);
  EXPECT_FLOAT_EQ(bin(3, 6), 1.0f / 3);
  EXPECT_FLOAT_EQ(bin(3, 5), 1.0f / 3);
  // Small: (0.7 + 0.35) / 2 = 0.525, (56 + 28) / 2 = 42, 4.
  EXPECT_FLOAT_EQ(bin(1, 4), 1.0f / 3);
  EXPECT_FLOAT_EQ(bin(1, 9), 1.0f / 3);
  for (int h = 0; h < 4; ++h) {
    float sum = 0;
    for (int b = 0; b < 10; ++b) sum += bin(h, b);
    EXPECT_FLOAT_EQ(sum, 1);
  }
  EXPECT_FLOAT_EQ(out[52], 1.0f / 1440);
  EXPECT_EQ(world.late, fixture::min(0.9));
}

TEST(Observation, DoesNotDependOnTheSizeOfTheFleet) {
  for (const Features features : {Features::kPaper, Features::kRich}) {
    World small("2xa100-40gb", 1), large("8xa100-40gb", 4);
    EXPECT_EQ(small.see(features), large.see(features)) << name_of(features);
  }
}

TEST(Observation, RichCountsByClassSlackAndWork) {
  World world("2xa100-40gb", 1);
  const auto out = world.see(Features::kRich);
  const double half = std::log1p(0.5);
  const auto cell = [&](int cls, int slack, int work) {
    return double(out[std::size_t(12 + cls * 25 + slack * 5 + work)]);
  };
  EXPECT_NEAR(cell(0, 2, 1), half, 1e-6);  // slack -0.9 - 0.1 = -1, work 0.1
  EXPECT_NEAR(cell(0, 4, 4), half, 1e-6);  // slack 11 - 8 = 3, work 8
  EXPECT_NEAR(cell(3, 4, 3), half, 1e-6);  // no deadline, work 4, class 4
  double sum = 0;
  for (int i = 12; i < 112; ++i) sum += double(out[std::size_t(i)]);
  EXPECT_NEAR(sum, 3 * half, 1e-5);
  EXPECT_NEAR(double(out[112]), std::log1p(8.1 / 2), 1e-5);  // backlog of class 1
  EXPECT_NEAR(double(out[116]), std::log1p(1), 1e-6);        // waiting of class 1
  // sine and cosine of one minute past midnight
  EXPECT_NEAR(double(out[out.size() - 4]), std::sin(2 * M_PI / 1440), 1e-6);
  EXPECT_NEAR(double(out[out.size() - 3]), std::cos(2 * M_PI / 1440), 1e-6);
}

TEST(Observation, AShapeOutsideTheSetCountsAsTheNearest) {
  const auto platform = fixture::platform("1xa100-40gb");
  const Observer observer(Features::kPaper, *platform, 0, controller_shapes(platform->models()[0]));
  EXPECT_EQ(observer.index_of(parse_shape(*platform->models()[0].gpu, "4g+3g").value()), 1);
  EXPECT_EQ(observer.index_of(parse_shape(*platform->models()[0].gpu, "4g").value()), 1);  // a 3g away
  EXPECT_EQ(observer.index_of(parse_shape(*platform->models()[0].gpu, "1g*6").value()), 11);
}

}  // namespace
}  // namespace smartmig
