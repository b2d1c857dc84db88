#include "policy/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "policy/layouts/layout_file.h"
#include "support/fixture.h"

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
  EXPECT_EQ(layouts("1,1"), "2 layouts for 9 GPUs; give one per GPU, or one for all");
  EXPECT_EQ(layouts("1, 2, 1, 1, 1, 1, 1, 1, 4g+3g"), "7g.40gb, 4g.20gb+3g.20gb, 6x 7g.40gb, 4g.20gb+3g.20gb");
}

TEST(Registry, SearchedAndPaperLayoutsServeMixedFleets) {
  const auto layouts = [&](const char* policy, const char* gpus) {
    const auto made = make_policy(policy, {}, {}, *fixture::platform(gpus, "linear:40:30:250"));
    return made ? made->layouts : made.error().what;
  };
  EXPECT_EQ(layouts("search+cedf", "3xa100-40gb,3xh100-94gb"),
            "2x 7g.40gb, 4g.20gb+3g.20gb, 2x 7g.94gb, 4g.47gb+3g.47gb")
      << "each model from the first shape on";
  EXPECT_EQ(layouts("static+cedf", "3xa100-40gb,2xa30-24gb"), "2x 7g.40gb, 4g.20gb+3g.20gb, 2x 2g.12gb+1g.6gb*2");
  for (const char* policy :
       {"search+cedf", "twice+cedf", "static+cedf", "none+edf", "meanfield+cedf", "market", "best"})
    EXPECT_TRUE(make_policy(policy, {}, {},
                            *fixture::platform("1xa30-24gb,2xh100-94gb,1xa100-40gb,1xb200-180gb", "linear:40:30:250")))
        << policy;
}

TEST(Registry, ComplainsInWords) {
  EXPECT_EQ(complaint("cedf"),
            "unknown policy 'cedf'; write REPARTITIONER+PLACER, for example static+cedf, or one of planner, market, "
            "batch, migm-a, migm-b, best");
  EXPECT_NE(complaint("plannner").find("did you mean planner?"), std::string::npos);
  EXPECT_NE(complaint("static").find("static+cedf"), std::string::npos);
  EXPECT_NE(complaint("static+cefd").find("did you mean cedf?"), std::string::npos);
  EXPECT_NE(complaint("statik+cedf").find("did you mean static?"), std::string::npos);
  EXPECT_NE(complaint("none+edf", "2xa100-40gb", "1").find("leaves every GPU whole"), std::string::npos);
  EXPECT_NE(complaint("twice+edf", "2xa100-40gb", "1,1").find("takes --layouts FILE"), std::string::npos);
  EXPECT_NE(complaint("static+edf", "2xa100-40gb", "no/such.json").find("no/such.json"), std::string::npos);
  EXPECT_NE(complaint("static+edf", "1xa100-40gb,1xa30-24gb", "1").find("a30-24gb needs a shape"), std::string::npos);
}

TEST(Registry, EachParameterHasItsOwnFlag) {
  EXPECT_EQ(complaint("market", "2xa100-40gb", "mine.json"),
            "policy 'market' takes no --layouts: it has --weights FILE");
  EXPECT_EQ(complaint("meanfield+cedf", "2xa100-40gb", "best.policy"),
            "policy 'meanfield+cedf' takes no --layouts: it has --network FILE");
  EXPECT_EQ(complaint("none[3]+edf"), "policy 'none+edf' takes nothing in brackets: it leaves every GPU whole");
  EXPECT_NE(complaint("market[no/such.json]").find("no/such.json"), std::string::npos);
  PolicyOptions shared;
  shared.layouts = "3";
  shared.weights = "mine.json";
  const PolicyOptions own = own_parameters(parse_policy_name("static+edf").value(), shared);
  EXPECT_EQ(own.layouts, "3");
  EXPECT_EQ(own.weights, "");
}

TEST(Registry, NamesAreTakenApart) {
  const PolicyName guarded = parse_policy_name("guard(static[4g+3g]+cedf)").value();
  EXPECT_TRUE(guarded.guarded);
  EXPECT_EQ(guarded.text, "static+cedf");
  EXPECT_EQ(guarded.full(), "guard(static+cedf)");
  EXPECT_EQ(guarded.in_brackets, "4g+3g");
  EXPECT_TRUE(guarded.policy->fixed_shapes);
  EXPECT_FALSE(guarded.uses_energy());
  EXPECT_TRUE(parse_policy_name("none+met").value().uses_energy());
  EXPECT_TRUE(parse_policy_name("meanfield+cedf").value().policy->learned);
  const PolicyName best = parse_policy_name("best").value();
  EXPECT_EQ(best.text, "best");
  EXPECT_EQ(best.placer, nullptr);
}

TEST(Registry, MeanfieldTakesTheNetworkOfItsCostModel) {
  const auto platform = fixture::platform("8xa100-40gb");
  const auto seeds = [&](const char* name, CostModel::Kind kind) {
    return make_policy(name, {}, {kind, {}}, *platform).value().training_seeds;
  };
  const auto hardware = seeds("meanfield[meanfield-hardware]+cedf", CostModel::kPaper);
  const auto paper = seeds("meanfield[meanfield]+cedf", CostModel::kHardware);
  ASSERT_NE(hardware, paper);
  EXPECT_EQ(seeds("meanfield+cedf", CostModel::kHardware), hardware);
  EXPECT_EQ(seeds("meanfield[greedy]+cedf", CostModel::kHardware), hardware);
  EXPECT_EQ(seeds("meanfield+cedf", CostModel::kPaper), paper);
}

TEST(Registry, EveryRowCanBeMadeAndIsListed) {
  const auto platform = fixture::platform("2xa100-40gb");
  const std::string help = policy_help();
  for (const PolicyRow& row : policies()) {
    const std::string name = row.make_layouts ? std::string(row.name) + "+cedf" : row.name;
    for (const CostModel::Kind kind : {CostModel::kHardware, CostModel::kPaper}) {
      const auto made = make_policy(name, {}, {kind, {}}, *platform);
      EXPECT_EQ(bool(made), !row.only_at || *row.only_at == kind) << name << (made ? "" : ": " + made.error().what);
    }
    EXPECT_NE(help.find(row.summary), std::string::npos) << name;
  }
  for (const PlacerRow& row : placers()) EXPECT_NE(help.find(row.summary), std::string::npos) << row.name;
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
  EXPECT_NE(complaint("twice+cedf", "2xa100-40gb", path).find("contains a static partition"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(PolicyTable, PatienceAndRoomAreWordsAfterTheColonAndMattersOfHardwareCosts) {
  const auto platform = fixture::platform("2xa100-40gb");
  const CostModel hardware{CostModel::kHardware, {}};
  for (const char* name : {"best:patient", "planner:patient", "best:alone", "planner:alone"}) {
    EXPECT_TRUE(make_policy(name, {}, hardware, *platform)) << name;
    EXPECT_FALSE(make_policy(name, {}, {}, *platform)) << name;
  }
  const auto wrong = make_policy("best:hasty", {}, hardware, *platform);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "policy 'best:hasty': write 'patient' or 'alone' after the colon");
}

}  // namespace
}  // namespace smartmig
