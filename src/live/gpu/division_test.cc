#include "live/gpu/division.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"
#include "live/gpu/desired.h"
#include "live/gpu/mig_config.h"
#include "mig/catalog.h"
#include "mig/shape.h"
#include "support/cases.h"

namespace smartmig {
namespace {

std::shared_ptr<const GpuModel> a100() { return *Catalog::builtin().find("a100-40gb"); }

// A board with these GPU instances, each with compute instances of these slices; empty: one that spans it.
GpuBoard board_with(const std::vector<std::pair<const char*, Division>>& instances) {
  GpuBoard board;
  board.model = a100();
  board.mode = MigMode::kOn;
  board.pci_id = "0x20B010DE";
  for (const auto& [place, division] : instances) {
    Instance i;
    i.placement = *parse_layout(*board.model, place)->begin();
    i.gpu_instance = int(board.instances.size()) + 1;
    i.compute_instance = 0;
    i.uuid = fmt::format("MIG-{}", i.gpu_instance);
    i.ours = true;
    for (int slices : division) i.parts.push_back({int(i.parts.size()), slices, fmt::format("{}-{}", i.uuid, slices)});
    board.instances.push_back(i);
  }
  fold_instances(board);
  return board;
}

MigConfig counts_config(const std::string& counts, const std::string& more = "") {
  const auto file =
      parse_mig_config("f", "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: {" + counts +
                                "}" + more + "}]}");
  EXPECT_TRUE(file) << file.error().what;
  return file->configs[0];
}

TEST(DivisionTest, NamesOfComputeInstances) {
  const auto read = [](const char* name) -> std::string {
    const auto part = parse_part_name(*a100(), name);
    return part ? part_name(*a100(), part->profile, part->slices) : part.error().what;
  };
  EXPECT_EQ(read("1c.3g.20gb"), "1c.3g.20gb");
  EXPECT_EQ(read("2c.3g"), "2c.3g.20gb");
  EXPECT_EQ(read("3c.3g.20gb"), "3g.20gb") << "it spans the GPU instance";
  EXPECT_EQ(read("7c.7g.40gb"), "7g.40gb");
  EXPECT_EQ(read("1g.5gb+me"), "1g.5gb+me");
  for (const char* bad : {"0c.3g.20gb", "4c.3g.20gb", "3c.4g.20gb", "5c.7g.40gb", "6c.3g.20gb", "-1c.3g.20gb"})
    EXPECT_NE(read(bad).find("has no compute instance of"), std::string::npos) << read(bad);
  for (const char* bad : {"c.3g.20gb", "1c.", "1c.1c.3g.20gb", "xc.3g.20gb", "5g.20gb", ""})
    EXPECT_NE(read(bad).find("has no profile"), std::string::npos) << read(bad);
}

TEST(DivisionTest, PackingKeepsEverySizeAndFits) {
  Rng rng(7);
  for (int i = 0; i < cases(300); ++i) {
    const int capacity = 1 + int(rng.below(8)), n = int(rng.below(12));
    Division sizes;
    for (int k = 0; k < n; ++k) sizes.push_back(1 + int(rng.below(std::uint64_t(capacity))));
    const int bins = int(rng.below(4));
    const auto packed = pack(sizes, capacity, bins);
    if (!packed) continue;
    Division all;
    for (const Division& division : *packed) {
      EXPECT_FALSE(division.empty());
      EXPECT_TRUE(std::is_sorted(division.rbegin(), division.rend()));
      EXPECT_LE(std::accumulate(division.begin(), division.end(), 0), capacity);
      all.insert(all.end(), division.begin(), division.end());
    }
    EXPECT_GE(int(packed->size()), bins);
    std::sort(all.begin(), all.end());
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(all, sizes);
  }
  EXPECT_EQ(pack({1, 2, 2, 1}, 3, 0)->size(), 2u) << "an order of creation that fits exists";
  EXPECT_EQ(*pack({1, 1}, 3, 2), (std::vector<Division>{{1}, {1}}));
  EXPECT_FALSE(pack({1}, 3, 2));
}

TEST(DivisionTest, BoardsAreComparedByComputeInstances) {
  const GpuBoard divided = board_with({{"4g@0", {}}, {"3g@4", {1, 1, 1}}});
  const auto differs = [&](const char* counts) {
    const auto wanted = desired_of(counts_config(counts), {divided});
    EXPECT_TRUE(wanted) << wanted.error().what;
    return difference(wanted->gpus[0], divided, false);
  };
  EXPECT_TRUE(differs("4g.20gb: 1, 3g.20gb: 1")) << "a divided GPU instance is not a whole one";
  EXPECT_TRUE(differs("4g.20gb: 1, 1c.3g.20gb: 2"));
  EXPECT_FALSE(differs("4g.20gb: 1, 1c.3g.20gb: 3"));
  EXPECT_FALSE(differs("4g: 1, 1c.3g: 3"));
}

TEST(DivisionTest, ExportReadsBackAsTheSame) {
  for (const GpuBoard& board : {board_with({{"4g@0", {2, 2}}, {"3g@4", {2, 1}}}), board_with({{"3g@4", {2}}}),
                                board_with({{"3g@0", {1}}, {"3g@4", {1}}}), board_with({{"7g@0", {3, 2, 2}}})})
    for (const bool placements : {false, true}) {
      const MigConfig config = exported({board}, "now", placements);
      const auto file = parse_mig_config("f", to_yaml({{config}}));
      ASSERT_TRUE(file) << file.error().what;
      const auto wanted = desired_of(file->configs[0], {board});
      ASSERT_TRUE(wanted) << wanted.error().what;
      EXPECT_FALSE(difference(wanted->gpus[0], board, false)) << to_yaml({{config}});
      const GpuChange change = change_for(wanted->gpus[0], board, {}, false, false);
      EXPECT_TRUE(change.refusal.empty() && change.plan.steps.empty() && change.divide.empty());
    }
}

TEST(DivisionTest, ChangesDivideTheFewestAndSpareTheBusy) {
  const auto change = [](const GpuBoard& board, const char* counts, Layout busy) {
    const auto wanted = desired_of(counts_config(counts), {board});
    EXPECT_TRUE(wanted) << wanted.error().what;
    return change_for(wanted->gpus[0], board, busy, false, false);
  };
  const GpuBoard board = board_with({{"3g@0", {}}, {"3g@4", {1, 1, 1}}});
  const GpuChange swap = change(board, "3g.20gb: 1, 2c.3g.20gb: 1, 1c.3g.20gb: 1", {});
  EXPECT_TRUE(swap.plan.steps.empty());
  ASSERT_EQ(swap.divide.size(), 1u);
  EXPECT_EQ(slice_name(*board.model, swap.divide[0].placement), "3g.20gb@4") << "the whole one stays whole";
  EXPECT_EQ(to_string(swap.divide[0].into), "2c+1c");

  const Layout busy = *parse_layout(*board.model, "3g@4");
  EXPECT_NE(change(board, "3g.20gb: 2", busy).refusal.find("busy"), std::string::npos);
  const GpuChange kept = change(board, "1c.3g.20gb: 6", busy);
  ASSERT_EQ(kept.divide.size(), 1u) << kept.refusal;
  EXPECT_EQ(slice_name(*board.model, kept.divide[0].placement), "3g.20gb@0");

  GpuBoard foreign = board;
  for (Instance& i : foreign.instances) i.ours = false;
  EXPECT_NE(change(foreign, "3g.20gb: 2", {}).refusal.find("--adopt"), std::string::npos);
}

TEST(DivisionTest, WhatDoesNotFitIsRefused) {
  const GpuBoard board = board_with({});
  for (const char* counts : {"1c.3g.20gb: 7", "4c.7g.40gb: 2", "2c.3g.20gb: 3", "3c.4g.20gb: 1", "1c.9g: 1"})
    EXPECT_FALSE(desired_of(counts_config(counts), {board})) << counts;
  EXPECT_FALSE(desired_of(counts_config("1c.3g.20gb: 1", ", mig-placements: [3g.20gb@0, 3g.20gb@4]"), {board}));
  EXPECT_TRUE(desired_of(counts_config("1c.3g.20gb: 2", ", mig-placements: [3g.20gb@0, 3g.20gb@4]"), {board}));
}

}  // namespace
}  // namespace smartmig
