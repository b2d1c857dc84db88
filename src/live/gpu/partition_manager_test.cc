#include "live/gpu/partition_manager.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

struct ManagerTest : ::testing::Test {
  std::shared_ptr<const GpuModel> model = *Catalog::builtin().find("a100-40gb");
  PartitionManager manager{{model, model}};
  void set(std::uint32_t gpu, const char* layout, const char* busy) {
    manager.set(GpuId{gpu}, *parse_layout(*model, layout), *parse_layout(*model, busy));
  }
  std::string words(const std::optional<SliceOffer>& offer) {
    if (!offer) return "none";
    constexpr const char* kMeans[] = {"reuse", "create", "fission", "fusion"};
    return fmt::format("{} {}:{} {}", kMeans[offer->means], index(offer->gpu), model->placement(offer->placement).start,
                       to_string(*model, offer->move.destroy));
  }
};

TEST_F(ManagerTest, IdleSliceIsReusedBeforeAnythingIsMade) {
  set(0, "empty", "empty");
  set(1, "3g@0+2g@4", "3g@0");
  EXPECT_EQ(words(manager.choose("2g")), "reuse 1:4 empty");
  EXPECT_EQ(words(manager.choose("4g")), "create 0:0 empty");
}

TEST_F(ManagerTest, SmallSlicesGoWhereLargeOnesCannot) {
  set(0, "empty", "empty");
  set(1, "4g@0", "4g@0");
  EXPECT_EQ(manager.choose("1g")->gpu, GpuId{1}) << "a whole GPU stays whole";
  set(1, "7g@0", "7g@0");
  EXPECT_EQ(words(manager.choose("1g")), "create 0:6 empty") << "at the end, where it spoils least";
}

TEST_F(ManagerTest, IdleNeighboursFuseAndIdleSlicesSplit) {
  set(0, "1g@0+1g@1+2g@2+3g@4", "3g@4");
  set(1, "7g@0", "7g@0");
  EXPECT_EQ(words(manager.choose("4g")), "fusion 0:0 1g.5gb@0+1g.5gb@1+2g.10gb@2");
  EXPECT_EQ(words(manager.fuse(GpuId{0}, model->find_profile("2g"))), "fusion 0:0 1g.5gb@0+1g.5gb@1");
  set(0, "4g@0+3g@4", "3g@4");
  EXPECT_EQ(words(manager.choose("2g")).substr(0, 9), "fission 0");
  Shape parts;
  parts.add(model->find_profile("2g"));
  parts.add(model->find_profile("1g"));
  parts.add(model->find_profile("1g"));
  const auto split = manager.split(GpuId{0}, *parse_layout(*model, "4g@0")->begin(), parts);
  ASSERT_TRUE(split) << split.error().what;
  EXPECT_EQ(to_string(*model, split->destroy), "4g.20gb@0");
  EXPECT_EQ(split->create.size(), 3);
  EXPECT_FALSE(manager.split(GpuId{0}, *parse_layout(*model, "3g@4")->begin(), parts)) << "busy";
}

TEST_F(ManagerTest, NothingWhereAllIsBusyOrBlocked) {
  set(0, "7g@0", "7g@0");
  set(1, "empty", "empty");
  EXPECT_TRUE(manager.choose("3g"));
  manager.block(GpuId{1}, true);
  EXPECT_FALSE(manager.choose("3g"));
  EXPECT_FALSE(manager.choose("9g"));
}

TEST_F(ManagerTest, FragmentationSaysWhatWouldHealIt) {
  set(0, "1g@0", "1g@0");
  const Fragmentation f = manager.fragmentation(GpuId{0});
  EXPECT_GT(f.score, 0.3);
  EXPECT_EQ(f.largest_free, 3);
  EXPECT_EQ(f.largest_if_packed, 4);
  ASSERT_EQ(f.moves.size(), 1u);
  EXPECT_EQ(model->placement(f.moves[0].second).start, 6);
  set(0, "1g@6", "1g@6");
  EXPECT_EQ(manager.fragmentation(GpuId{0}).score, 0);
}

}  // namespace
}  // namespace smartmig
