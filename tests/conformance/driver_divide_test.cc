// GPU instances divided into several compute instances, on the emulated NVML.
#include "driver_harness.h"
#include "live/gpu/division.h"

namespace smartmig::conformance {
namespace {

class DividedInstances : public ::testing::Test {
 protected:
  void start(const std::string& spec, Opening opening = {}) {
    harness = make_sim_harness(spec);
    harness->open(opening);
  }
  MigDriver& driver() { return harness->driver(); }
  GpuBoard board() { return *driver().read(GpuId{0}); }
  Result<Instance> create(const char* text) {
    return driver().create(GpuId{0}, *parse_layout(*board().model, text)->begin());
  }
  std::string counts() { return to_string(part_counts(board())); }
  std::unique_ptr<Harness> harness;
};

TEST_F(DividedInstances, ThereAndBack) {
  start("1xa100-40gb");
  ASSERT_TRUE(create("4g@0"));
  const auto whole = create("3g@4");
  ASSERT_TRUE(whole) << whole.error().what;
  EXPECT_TRUE(whole->parts.empty());
  const auto parts = driver().divide(GpuId{0}, *whole, {1, 2});
  ASSERT_TRUE(parts) << parts.error().what;
  EXPECT_EQ(counts(), "4g.20gb+1c.3g.20gb+2c.3g.20gb");
  ASSERT_EQ(parts->parts.size(), 2u);
  EXPECT_NE(parts->parts[0].uuid, parts->parts[1].uuid);
  EXPECT_EQ(parts->uuid, parts->parts[0].uuid);
  EXPECT_TRUE(parts->ours);
  EXPECT_EQ(board().layout.size(), 2) << "it stays a GPU instance of its profile";
  EXPECT_FALSE(driver().divide(GpuId{0}, *whole, {})) << "the UUID of before is gone";
  harness->open();
  EXPECT_TRUE(find_instance(board(), whole->placement)->ours) << "also for the next program";
  const auto again = driver().divide(GpuId{0}, *parts, {});
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_TRUE(again->parts.empty());
  EXPECT_EQ(counts(), "4g.20gb+3g.20gb");
  ASSERT_TRUE(driver().divide(GpuId{0}, *again, {1, 1, 1}));
  ASSERT_TRUE(driver().destroy(GpuId{0}, *find_instance(board(), whole->placement)));
  EXPECT_EQ(counts(), "4g.20gb");
}

TEST_F(DividedInstances, EveryDivisionOfTheLargest) {
  start("1xa100-40gb");
  auto instance = create("7g@0");
  ASSERT_TRUE(instance);
  for (const Division& division : std::vector<Division>{
           {4, 3}, {3, 3}, {3, 3, 1}, {3, 2, 2}, {2, 2, 2, 1}, {4, 2, 1}, {4}, {1}, {1, 1, 1, 1, 1, 1, 1}, {7}}) {
    instance = driver().divide(GpuId{0}, *instance, division);
    ASSERT_TRUE(instance) << to_string(division) << ": " << instance.error().what;
    EXPECT_EQ(division_of(*board().model, *instance), division);
  }
  const std::string before = instance->uuid;
  for (const Division& division : std::vector<Division>{{4, 4}, {5}, {7, 1}}) {
    const auto refused = driver().divide(GpuId{0}, *instance, division);
    EXPECT_FALSE(refused) << to_string(division);
    EXPECT_EQ(board().instances[0].uuid, before) << "nothing was touched";
  }
}

TEST_F(DividedInstances, HoppersDoubleMemoryProfilesCountAsWhole) {
  start("1xh200-141gb");
  ASSERT_TRUE(create("1g.35gb@0"));
  const auto two = create("2g@2");
  ASSERT_TRUE(two);
  ASSERT_TRUE(driver().divide(GpuId{0}, *two, {1, 1}));
  EXPECT_EQ(counts(), "1c.2g.35gb*2+1g.35gb");
}

TEST_F(DividedInstances, BusyAndForeignOnesStay) {
  start("1xa100-40gb");
  const auto busy = create("3g@4");
  ASSERT_TRUE(busy);
  const std::uint32_t pid = harness->run_process(GpuId{0}, *busy);
  const auto refused = driver().divide(GpuId{0}, *busy, {1, 1, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::kBusy) << refused.error().what;
  EXPECT_EQ(counts(), "3g.20gb");
  harness->end_process(pid);
  harness->create_by_hand(GpuId{0}, *parse_layout(*board().model, "2g@0")->begin());
  const Instance foreign = board().instances[0];
  EXPECT_EQ(driver().divide(GpuId{0}, foreign, {1, 1}).error().code, Error::kNoPermission);
  harness->open({true, false});
  EXPECT_TRUE(driver().divide(GpuId{0}, foreign, {1, 1}));
}

TEST_F(DividedInstances, ARefusedComputeInstanceLeavesItAsItWas) {
  start("1xa100-40gb");
  const auto whole = create("3g@4");
  ASSERT_TRUE(whole);
  ASSERT_TRUE(harness->inject(Trouble::kComputeRefused, GpuId{0}, 1));
  const auto refused = driver().divide(GpuId{0}, *whole, {1, 1, 1});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("it was restored"), std::string::npos) << refused.error().what;
  EXPECT_EQ(counts(), "3g.20gb");
  EXPECT_TRUE(board().instances[0].ours);
}

}  // namespace
}  // namespace smartmig::conformance
