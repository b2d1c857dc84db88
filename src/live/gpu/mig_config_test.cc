#include "live/gpu/mig_config.h"

#include <gtest/gtest.h>

#include "live/gpu/desired.h"
#include "support/fake_driver.h"

namespace smartmig {
namespace {

constexpr const char* kFile = R"(version: v1
mig-configs:
  two-layouts:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}
    - device-filter: ["0x20B710DE"]
      devices: all
      mig-enabled: false
  pinned:
    - devices: 0
      mig-enabled: true
      mig-devices: {"1g.5gb": 2}
      mig-placements: ["1g.5gb@6"]
)";

std::vector<GpuBoard> boards(const char* spec) { return *(*FakeDriver::open(spec, {}))->inventory(); }

TEST(MigConfigTest, ReadsMigPartedFiles) {
  const auto file = parse_mig_config("f", kFile);
  ASSERT_TRUE(file) << file.error().what;
  ASSERT_EQ(file->configs.size(), 2u);
  const MigConfig& config = *file->find("two-layouts");
  EXPECT_EQ(config.entries[0].devices, std::vector<int>{0});
  EXPECT_EQ(config.entries[0].mig_devices.size(), 3u);
  EXPECT_EQ(config.entries[1].filter, std::vector<std::string>{"0x20B710DE"});
  EXPECT_FALSE(config.entries[1].mig_enabled);
  EXPECT_EQ(to_yaml(*parse_mig_config("again", to_yaml(*file))), to_yaml(*file));
  EXPECT_EQ(to_json(*parse_mig_config("json", to_json(*file))), to_json(*file));
}

TEST(MigConfigTest, ComplaintsNameTheLine) {
  const auto complaint = [](const std::string& entry) {
    const auto file = parse_mig_config("f", "version: v1\nmig-configs:\n  a:\n" + entry);
    return file ? std::string("read") : file.error().what;
  };
  EXPECT_NE(complaint("    - devices: all\n      mig-enabled: perhaps\n").find("line 5"), std::string::npos);
  EXPECT_NE(complaint("    - devices: all\n      mig-enabled: 'true'\n").find("in quotes"), std::string::npos);
  EXPECT_NE(complaint("    - devices: all\n").find("'mig-enabled' is missing"), std::string::npos);
  EXPECT_NE(complaint("    - mig-enabled: true\n").find("'devices' is missing"), std::string::npos);
  EXPECT_NE(complaint("    - devices: [0, 0]\n      mig-enabled: true\n").find("twice"), std::string::npos);
  EXPECT_NE(complaint("    - devices: all\n      mig-enabled: true\n      mig-enabled: true\n").find("given twice"),
            std::string::npos);
  EXPECT_NE(
      complaint("    - devices: all\n      mig-enabled: true\n      mig-devices: {1g.5gb: -1}\n").find("whole number"),
      std::string::npos);
  EXPECT_NE(complaint("    - devices: all\n      mig-enabled: false\n      mig-devices: {1g.5gb: 1}\n").find("false"),
            std::string::npos);
  EXPECT_NE(complaint("    - devices: all\n      mig-enabled: true\n      color: red\n").find("unknown key 'color'"),
            std::string::npos);
  EXPECT_NE(complaint("    []\n").find("must be a list"), std::string::npos);
  for (const char* text : {"", "[", "a: b: c", "version: v1", "version: v1\nmig-configs: {}", "- 1",
                           "version: v1\nmig-configs: [1]", "&a [*a]"})
    EXPECT_FALSE(parse_mig_config("f", text)) << text;
}

// What mig-parted refuses too: read as "no instance", it would destroy every instance there is.
TEST(MigConfigTest, MigOnWithoutCountsIsRefused) {
  const auto complaint = [](const std::string& counts) {
    const auto file = parse_mig_config(
        "f", "version: v1\nmig-configs:\n  a:\n    - devices: all\n      mig-enabled: true\n" + counts);
    return file ? std::string("read") : file.error().what;
  };
  for (const char* counts : {"", "      mig-devices:\n", "      mig-devices: ~\n", "      mig-devices: null\n",
                             "      mig-placements: []\n"})
    EXPECT_NE(complaint(counts).find("'mig-devices' is missing"), std::string::npos) << counts << complaint(counts);
  for (const char* counts : {"      mig-devices: {1g.5gb: 0}\n", "      mig-devices: {1g.5gb: 0, 2g.10gb: 0}\n",
                             "      mig-devices: {3g.20gb: 0}\n      mig-placements: [\"3g.20gb@4\"]\n"})
    EXPECT_NE(complaint(counts).find("every count of 'mig-devices' is 0"), std::string::npos) << counts;
  EXPECT_EQ(complaint("      mig-devices: {}\n"), "read") << "says so itself";
  EXPECT_EQ(complaint("      mig-devices: {1g.5gb: 0, 2g.10gb: 1}\n"), "read");
  EXPECT_EQ(complaint("      mig-placements: [\"3g.20gb@4\"]\n"), "read");
}

TEST(MigConfigTest, BooleansAreThoseOfYaml11) {
  const auto enabled = [](const std::string& word) -> std::optional<bool> {
    const auto file = parse_mig_config(
        "f", "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: " + word + ", mig-devices: {}}]}\n");
    if (!file) return std::nullopt;
    return file->configs[0].entries[0].mig_enabled;
  };
  for (const char* word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})
    EXPECT_EQ(enabled(word), true) << word;
  for (const char* word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})
    EXPECT_EQ(enabled(word), false) << word;
  for (const char* word : {"tRUE", "1", "0", "\"yes\"", "~", "[]", "oN"})
    EXPECT_EQ(enabled(word), std::nullopt) << word;
}

TEST(MigConfigTest, MergeKeysFillIn) {
  const auto file = parse_mig_config("f", R"(version: v1
mig-configs:
  base:
    - &base
      devices: all
      mig-enabled: yes
      mig-devices: &counts {1g.5gb: 1, 2g.10gb: 1}
  merged:
    - {<<: *base, devices: [1]}
    - <<: [{mig-enabled: false, mig-devices: {}}, *base]
      devices: [0]
    - {<<: *base, devices: [2], mig-devices: {<<: *counts, 2g.10gb: 2}}
)");
  ASSERT_TRUE(file) << file.error().what;
  const auto& entries = file->find("merged")->entries;
  EXPECT_EQ(entries[0].devices, std::vector<int>{1});
  EXPECT_TRUE(entries[0].mig_enabled);
  EXPECT_EQ(entries[0].mig_devices.size(), 2u);
  EXPECT_FALSE(entries[1].mig_enabled) << "the earlier map of the list counts";
  EXPECT_EQ(entries[2].mig_devices, (std::vector<std::pair<std::string, int>>{{"2g.10gb", 2}, {"1g.5gb", 1}}));
  const auto refused = [](const std::string& entry) {
    return !parse_mig_config("f", "version: v1\nmig-configs: {a: [" + entry + "]}");
  };
  EXPECT_TRUE(refused("{<<: 3, devices: all, mig-enabled: false}"));
  EXPECT_TRUE(refused("{\"<<\": {devices: all}, mig-enabled: false}")) << "quoted it is a key like any other";
  EXPECT_TRUE(refused("&a {<<: *a, devices: all, mig-enabled: false}")) << "a map that merges itself";
}

TEST(DeviceFilterTest, MatchesDeviceAndSubsystem) {
  GpuBoard board;
  board.pci_id = "0x20B010DE";
  board.pci_subsystem = "0x144E10DE";
  const auto fits = [&](const char* text) {
    const auto filter = DeviceFilter::parse(text);
    return filter && filter->matches(board);
  };
  for (const char* yes : {"0x20B010DE", "0x20b010de", "0X20B010DE", "548409566", "0x20B010DE:0x144E10DE"})
    EXPECT_TRUE(fits(yes)) << yes;
  for (const char* no : {"0x20B210DE", "0x20B010DE:0x144F10DE", "0x20B210DE:0x144E10DE"}) {
    EXPECT_TRUE(DeviceFilter::parse(no)) << no;
    EXPECT_FALSE(fits(no)) << no;
  }
  for (const char* bad :
       {"", "A100-SXM4-40GB", "0x", "0x20B010DE:", ":0x144E10DE", "0x20B010DE:1:2", "0x120B010DE", "-1", " 0x20B010DE"})
    EXPECT_FALSE(DeviceFilter::parse(bad)) << bad;
  board.pci_subsystem = "";
  EXPECT_TRUE(fits("0x20B010DE"));
  EXPECT_FALSE(fits("0x20B010DE:0x144E10DE"));
}

TEST(DesiredTest, EntriesCoverBoardsByIndexAndFilter) {
  const auto file = *parse_mig_config("f", kFile);
  const auto desired = desired_of(*file.find("two-layouts"), boards("1xa100-40gb,1xa30-24gb"));
  ASSERT_TRUE(desired) << desired.error().what;
  ASSERT_EQ(desired->gpus.size(), 2u);
  EXPECT_TRUE(desired->gpus[0].mig_enabled);
  EXPECT_FALSE(desired->gpus[1].mig_enabled);
  const auto twice = desired_of(*file.find("two-layouts"), boards("1xa30-24gb"));
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().what.find("both cover"), std::string::npos);
}

TEST(DesiredTest, PinnedPlacementsStand) {
  const auto file = *parse_mig_config("f", kFile);
  const auto list = boards("1xa100-40gb");
  const auto desired = desired_of(*file.find("pinned"), list);
  ASSERT_TRUE(desired) << desired.error().what;
  const GpuChange change = change_for(desired->gpus[0], list[0], {}, false, false);
  EXPECT_EQ(to_string(*list[0].model, change.plan.to), "1g.5gb@0+1g.5gb@6");
}

TEST(DesiredTest, ForeignSlicesNeedAdopt) {
  auto fake = FakeDriver::open("1xa100-40gb", {});
  const GpuBoard empty = *(*fake)->read(GpuId{0});
  ASSERT_TRUE((*fake)->create_foreign(GpuId{0}, *parse_layout(*empty.model, "4g@0")->begin()));
  const GpuBoard board = *(*fake)->read(GpuId{0});
  const Desired desired = *desired_of(board, "3g+3g");
  EXPECT_NE(change_for(desired, board, {}, false, false).refusal.find("--adopt"), std::string::npos);
  EXPECT_TRUE(change_for(desired, board, {}, true, false).refusal.empty());
}

TEST(DesiredTest, ExportReadsBackAsTheSamePartition) {
  auto fake = FakeDriver::open("3xa100-40gb", {});
  const auto model = (*fake)->read(GpuId{0})->model;
  const Layout layout = *parse_layout(*model, "3g@0+2g@4");
  for (std::uint32_t g : {0u, 2u})
    for (PlacementId p : layout) ASSERT_TRUE((*fake)->create(GpuId{g}, p));
  const auto list = *(*fake)->inventory();
  const MigConfig config = exported(list, "now", true);
  EXPECT_EQ(config.entries.size(), 2u) << "boards that are alike share an entry";
  const auto desired = desired_of(config, list);
  ASSERT_TRUE(desired) << desired.error().what;
  for (const Desired& one : desired->gpus) EXPECT_FALSE(difference(one, list[index(one.gpu)], false));
}

TEST(DesiredTest, GeneratedConfigurationsFit) {
  for (const auto& model : Catalog::builtin().models()) {
    const auto list = boards(("1x" + model->name()).c_str());
    const MigConfigFile file = generated(list);
    const auto read = parse_mig_config("generated", to_yaml(file));
    ASSERT_TRUE(read) << read.error().what;
    for (const MigConfig& config : read->configs) {
      const auto desired = desired_of(config, list);
      ASSERT_TRUE(desired) << model->name() << ": " << desired.error().what;
    }
  }
}

}  // namespace
}  // namespace smartmig
