#include "model/platform.h"

#include <gtest/gtest.h>

#include <bit>

namespace smartmig {
namespace {

TEST(Platform, OneModel) {
  const auto p = Platform::parse("8xa100-40gb");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->gpus(), 8u);
  EXPECT_EQ(p->models().size(), 1u);
  EXPECT_EQ(p->total_compute_slices(), 56);
  EXPECT_EQ(p->model(GpuId(7)).power.name(), "paper");
  EXPECT_EQ(p->types().size(), p->models()[0].gpu->profiles().size());
}

TEST(Platform, SlicesWithDoubleMemoryTakeMoreRoom) {
  const Platform platform = *Platform::parse("1xa100-40gb");
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    const Profile& profile = platform.profile(TypeId(t));
    const double room = platform.type(TypeId(t)).room;
    if (profile.variant == Variant::kPlain) {
      EXPECT_EQ(room, profile.compute_slices) << profile.name;
    } else if (profile.variant == Variant::kDoubleMemory) {
      EXPECT_EQ(room, 1.75) << profile.name;  // two of eight memory slices, of seven compute slices
    }
  }
}

TEST(Platform, SoftSlicesHaveTheTablesOfTheirModel) {
  const auto own = Platform::parse("1xh200-141gb-soft", "h200-141gb=linear:70:40:500");
  ASSERT_TRUE(own) << own.error().what;
  EXPECT_EQ(own->models()[0].power.idle(), 70);
  const auto exact =
      Platform::parse("1xh200-141gb-soft", "h200-141gb-soft=linear:71:40:500,h200-141gb=linear:70:40:500");
  ASSERT_TRUE(exact) << exact.error().what;
  EXPECT_EQ(exact->models()[0].power.idle(), 71);
  const Platform plain = *Platform::parse("1xh200-141gb-soft");
  EXPECT_EQ(plain.models()[0].power.name(), "h200");
  for (std::size_t t = 0; t < plain.types().size(); ++t)
    if (plain.profile(TypeId(t)).variant == Variant::kHalfMemory) {
      EXPECT_EQ(plain.types()[t].room, 0.5);
    }
  EXPECT_EQ(std::popcount(plain.models()[0].halves), 14);
}

TEST(Platform, MixedFleetsNumberTheSliceTypesOfAllModels) {
  const auto p = Platform::parse("2xa100-40gb, 1xa30-24gb,1xa100-40gb", "linear:40:30:250");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->gpus(), 4u);
  EXPECT_EQ(p->models().size(), 2u);  // the same model twice is one
  EXPECT_EQ(p->model_index(GpuId(0)), 0);
  EXPECT_EQ(p->model_index(GpuId(2)), 1);
  EXPECT_EQ(p->model_index(GpuId(3)), 0);
  EXPECT_EQ(p->total_compute_slices(), 7 + 7 + 4 + 7);
  for (std::size_t g = 0; g < p->gpus(); ++g) {
    const GpuModel& gpu = *p->model(GpuId(g)).gpu;
    for (std::size_t i = 0; i < gpu.placements().size(); ++i) {
      const TypeId type = p->type_of(GpuId(g), PlacementId(i));
      EXPECT_EQ(p->profile(type).name, gpu.profile_of(PlacementId(i)).name);
      EXPECT_EQ(p->type(type).compute_slices, p->model(GpuId(g)).slices_of_placement[i]);
      EXPECT_EQ(p->type(type).memory_mib, gpu.profile_of(PlacementId(i)).memory_mib);
    }
  }
}

TEST(Platform, ComplainsInWords) {
  const auto complaint = [](std::string_view spec, std::string_view power = "auto") {
    const auto p = Platform::parse(spec, power);
    return p ? std::string("accepted") : p.error().what;
  };
  EXPECT_EQ(complaint("a100-40gb"), "GPUs 'a100-40gb': write COUNTxMODEL, for example 8xa100-40gb");
  EXPECT_NE(complaint("").find("COUNTxMODEL"), std::string::npos);
  EXPECT_NE(complaint("8xa100-40gb,").find("COUNTxMODEL"), std::string::npos);
  EXPECT_NE(complaint("0xa100-40gb").find("at least one"), std::string::npos);
  EXPECT_NE(complaint("-1xa100-40gb").find("at least one"), std::string::npos);
  EXPECT_NE(complaint("1000001xa100-40gb").find("more than 1000000"), std::string::npos);
  EXPECT_NE(complaint("1xa100-40gb,9223372036854775807xa100-40gb").find("more than 1000000"), std::string::npos);
  EXPECT_NE(complaint("2xa100-41gb").find("a100-4"), std::string::npos);
  EXPECT_NE(complaint("1xa30-24gb", "nosuch").find("linear:"), std::string::npos);
  EXPECT_NE(complaint("1xa30-24gb", "paper").find("7 compute slices"), std::string::npos);
}

TEST(Platform, EveryModelMayHaveItsOwnPowerModel) {
  const auto mixed = Platform::parse("2xa100-40gb,1xh100-94gb,1xa30-24gb", "a100-40gb=paper,a30-24gb=linear:30:35:165");
  ASSERT_TRUE(mixed) << mixed.error().what;
  EXPECT_EQ(mixed->models()[0].power.name(), "paper");
  EXPECT_EQ(mixed->models()[1].power.name(), Platform::parse("1xh100-94gb")->models()[0].power.name()) << "auto";
  EXPECT_EQ(mixed->models()[2].power.cap(), 165);
  EXPECT_FALSE(Platform::parse("2xa100-40gb", "a100-40gb=paper,h200"));
  EXPECT_FALSE(Platform::parse("2xa100-40gb", "b100=paper"));
  const auto rough = Platform::parse("1xa30-24gb", "a100-40gb=paper");
  ASSERT_TRUE(rough) << rough.error().what;
  EXPECT_EQ(
      rough_watts(*rough),
      "joules by the power model are rough, because they follow from the board's power limit: a30-24gb (28 to 165 W)");
  EXPECT_EQ(rough_watts(*Platform::parse("1xa100-40gb")), "");
}

}  // namespace
}  // namespace smartmig
