#include "mig/gpu_model.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

GpuModelSpec two_slices() {
  GpuModelSpec spec;
  spec.name = "toy";
  spec.compute_slices = spec.memory_slices = 2;
  spec.profiles = {{"1g.1gb", 1, 0, 1, 1, 0, 0, 2, Variant::kPlain, {0, 1}},
                   {"2g.2gb", 0, 1, 2, 2, 0, 0, 1, Variant::kPlain, {0}}};
  return spec;
}

std::string refusal(const GpuModelSpec& spec) {
  const auto made = GpuModel::make(spec);
  return made ? "" : made.error().what;
}

TEST(GpuModel, KnowsAllLayoutsOfAToy) {
  const auto model = GpuModel::make(two_slices());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->layouts(model->all_profiles()).size(), 5u);  // {}, a, b, ab, whole
  EXPECT_EQ(model->find_profile("1g"), 0);
  EXPECT_EQ(model->find_profile("2g.2gb"), 1);
  EXPECT_EQ(model->find_profile("3g"), -1);
  EXPECT_EQ(model->find_placement(0, 1), PlacementId(1));
  EXPECT_EQ(model->find_placement(1, 1), kNoPlacement);
  const Layout both = *model->layout_of(std::vector{PlacementId(0), PlacementId(1)});
  EXPECT_TRUE(model->maximal(both, model->all_profiles()));
  EXPECT_EQ(model->compute_used(both), 2);
  EXPECT_EQ(model->memory_mask(both), 3u);
  EXPECT_FALSE(model->with(both, PlacementId(2)));
  EXPECT_FALSE(model->layout_of(std::vector{PlacementId(0), PlacementId(0)}));
  EXPECT_FALSE(model->layout_of(std::vector{PlacementId(9)}));
}

TEST(GpuModel, RefusesBrokenSpecsByName) {
  const auto broken = [](auto change) {
    GpuModelSpec spec = two_slices();
    change(spec);
    return refusal(spec);
  };
  EXPECT_NE(broken([](auto& s) { s.name.clear(); }), "");
  EXPECT_NE(broken([](auto& s) { s.memory_slices = 0; }), "");
  EXPECT_NE(broken([](auto& s) { s.memory_slices = 33; }), "");
  EXPECT_NE(broken([](auto& s) { s.profiles.clear(); }), "");
  EXPECT_NE(broken([](auto& s) { s.profiles[1].name = "1g.1gb"; }).find("given twice"), std::string::npos);
  EXPECT_NE(broken([](auto& s) { s.profiles[1].starts = {1}; }).find("2g.2gb: start 1 does not fit"),
            std::string::npos);
  EXPECT_NE(broken([](auto& s) { s.profiles[0].starts = {1, 1}; }).find("increasing"), std::string::npos);
  EXPECT_NE(broken([](auto& s) { s.profiles[0].starts = {-1, 0}; }), "");
  EXPECT_NE(broken([](auto& s) { s.profiles[0].starts.clear(); }).find("not known"), std::string::npos);
  EXPECT_NE(broken([](auto& s) { s.profiles[0].compute_slices = 3; }), "");
  EXPECT_NE(broken([](auto& s) { s.profiles[0].max_instances = 0; }), "");
  EXPECT_NE(broken([](auto& s) {  // a Shape has room for 16 profiles
              for (int i = 0; i < 15; ++i)
                s.profiles.push_back({"p" + std::to_string(i), -1, -1, 1, 1, 0, 0, 1, Variant::kPlain, {0}});
            })
                .find("at most 16"),
            std::string::npos);
  EXPECT_NE(broken([](auto& s) {
              s.memory_slices = 32;
              s.profiles[0].max_instances = 16;
              s.profiles[0].starts.resize(16);
              for (int i = 0; i < 16; ++i) s.profiles[0].starts[std::size_t(i)] = i;
            }).find("more than 15"),
            std::string::npos);
  EXPECT_EQ(broken([](auto&) {}), "");
}

TEST(GpuModel, MediaEnginesAreExclusive) {
  const GpuModel& a30 = **Catalog::builtin().find("a30-24gb");
  const auto at = [&](const GpuModel& m, const char* profile, int start) {
    return m.find_placement(m.find_profile(profile), start);
  };
  EXPECT_FALSE(a30.layout_of(std::vector{at(a30, "1g.6gb+me", 0), at(a30, "2g.12gb+me", 2)}));
  EXPECT_TRUE(a30.layout_of(std::vector{at(a30, "1g.6gb+me", 0), at(a30, "2g.12gb", 2)}));
  const GpuModel& rtx = **Catalog::builtin().find("rtx-pro-6000-blackwell-96gb");
  EXPECT_FALSE(rtx.layout_of(std::vector{at(rtx, "1g.24gb+me.all", 0), at(rtx, "1g.24gb", 3)}));
  EXPECT_TRUE(
      rtx.layout_of(std::vector{at(rtx, "1g.24gb+me.all", 0), at(rtx, "1g.24gb-me", 3), at(rtx, "2g.48gb-me", 6)}));
}

}  // namespace
}  // namespace smartmig
