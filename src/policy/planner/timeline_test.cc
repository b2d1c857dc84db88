#include "policy/planner/timeline.h"

#include <gtest/gtest.h>

#include "support/fixture.h"

namespace smartmig {
namespace {

using fixture::min;

struct OneGpu {
  std::shared_ptr<const Platform> platform = fixture::platform("1xa100-40gb");
  PlacementTable table{platform->models()[0]};
  GpuTimeline timeline;
  OneGpu() { timeline.clear(min(0)); }
  PlacementId at(const char* slice) const { return fixture::slice(*platform, 0, slice); }
};

TEST(Timeline, AnEmptyGpuIsFreeAtOnce) {
  OneGpu gpu;
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("7g@0"), min(3), min(10)), min(3));
  EXPECT_EQ(gpu.timeline.first_end(), kNever);
}

TEST(Timeline, OverlappingSlicesWaitOthersDoNot) {
  OneGpu gpu;
  gpu.timeline.take(gpu.table, gpu.at("4g@0"), min(0), min(10));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("7g@0"), min(0), min(1)), min(10));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("1g@2"), min(0), min(1)), min(10));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("3g@4"), min(0), min(30)), min(0));
  EXPECT_EQ(gpu.timeline.first_end(), min(10));
}

// A job that ends before the reservation of another may use the gap; a longer one may not.
TEST(Timeline, GapsBeforeReservationsAreUsed) {
  OneGpu gpu;
  gpu.timeline.take(gpu.table, gpu.at("1g@6"), min(0), min(5));
  gpu.timeline.take(gpu.table, gpu.at("7g@0"), min(5), min(20));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("4g@0"), min(0), min(5)), min(0));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("4g@0"), min(0), min(6)), min(20));
  EXPECT_EQ(gpu.timeline.first_fit(gpu.at("4g@0"), min(2), min(4)), min(20));
}

TEST(Timeline, EnergyIsWhatIsAddedToThoseWhoRunBeside) {
  OneGpu gpu;
  const PowerModel& power = gpu.platform->models()[0].power;
  gpu.timeline.take(gpu.table, gpu.at("4g@0"), min(0), min(10));
  const double beside = (power.watts(7, 0) - power.watts(4, 0)) * 10, alone = (power.watts(3, 0) - power.idle()) * 5;
  EXPECT_NEAR(gpu.timeline.added_energy(power, 3, 0, min(0), min(15)) / 60e6, beside + alone, 1e-6);
}

}  // namespace
}  // namespace smartmig
