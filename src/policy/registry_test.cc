#include "policy/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "model/fixture.h"
#include "policy/layout_file.h"

namespace smartmig {
namespace {

std::string complaint(std::string_view name, std::string_view gpus = "2xa100-40gb", std::string layouts = {}) {
  PolicyOptions options;
  options.layouts = std::move(layouts);
  const auto made = make_policy(name, options, {}, *fixture::platform(gpus, "linear:40:30:250"));
  return made ? std::string("accepted") : made.error().what;
}

TEST(Registry, EveryPlacerHasItsName) {
  const auto platform = fixture::platform("2xa100-40gb");
  for (const std::string& placer : placer_names())
    for (const auto kind : {CostModel::kPaper, CostModel::kHardware})
      for (const bool plain : {false, true}) {
        PolicyOptions options;
        options.plain = plain;
        const auto made = make_policy("none+" + placer, options, {kind, {}}, *platform);
        ASSERT_TRUE(made) << made.error().what;
        EXPECT_EQ(made->name, "none+" + placer);
        EXPECT_EQ(made->layouts, "2x 7g.40gb");
      }
}

TEST(Registry, StaticLayouts) {
  const auto platform = fixture::platform("9xa100-40gb");
  const auto layouts = [&](const char* text) {
    PolicyOptions options;
    options.layouts = text;
    const auto made = make_policy("static+cedf", options, {}, *platform);
    return made ? made->layouts : made.error().what;
  };
  EXPECT_EQ(
      layouts(""),
      "2x 7g.40gb, 4g.20gb+3g.20gb, 2x 4g.20gb+2g.10gb+1g.10gb, 2x 3g.20gb*2, 2g.10gb*2+1g.10gb+1g.5gb*2, 7g.40gb");
  EXPECT_EQ(layouts("5"), "9x 3g.20gb*2");
  EXPECT_EQ(layouts("1,1"), "2 layouts are given for 9 GPUs: give one per GPU, or one for all");
  EXPECT_EQ(layouts("1, 2, 1, 1, 1, 1, 1, 1, 4g+3g"), "7g.40gb, 4g.20gb+3g.20gb, 6x 7g.40gb, 4g.20gb+3g.20gb");
}

TEST(Registry, ComplainsInWords) {
  EXPECT_EQ(complaint("cedf"), "policy 'cedf': write REPARTITIONER+PLACER, for example static+cedf, or planner");
  EXPECT_NE(complaint("static+cefd").find("did you mean cedf?"), std::string::npos);
  EXPECT_NE(complaint("statik+cedf").find("did you mean static?"), std::string::npos);
  EXPECT_NE(complaint("none+edf", "2xa100-40gb", "1").find("leaves every GPU whole"), std::string::npos);
  EXPECT_NE(complaint("twice+edf", "2xa100-40gb", "1,1").find("takes --layouts FILE"), std::string::npos);
  EXPECT_NE(complaint("static+edf", "2xa100-40gb", "no/such.json").find("no/such.json"), std::string::npos);
  EXPECT_NE(complaint("static+edf", "1xa100-40gb,1xa30-24gb", "1").find("a30-24gb needs a shape"), std::string::npos);
}

TEST(Registry, LayoutFiles) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("smartmig-registry-{}.json", ::getpid());
  LayoutFile file;
  file.gpus = "2xa100-40gb";
  file.placer = "cedf";
  file.workload = "paper:20x";
  file.day = {"4g+3g", "7g"};
  file.seeds = {11, 12};
  ASSERT_TRUE(write_file(path, to_json(file)));
  PolicyOptions options;
  options.layouts = path;
  const auto platform = fixture::platform("3xa100-40gb");
  const auto made = make_policy("static+cedf", options, {}, *platform);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->layouts, "4g.20gb+3g.20gb, 7g.40gb, 4g.20gb+3g.20gb");  // a shorter list is repeated
  EXPECT_EQ(made->training_seeds, (std::vector<std::uint64_t>{11, 12}));
  EXPECT_NE(complaint("twice+cedf", "2xa100-40gb", path).find("holds a static partition"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace smartmig
