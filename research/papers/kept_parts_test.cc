#include "research/papers/kept_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "research/papers/state_dir.h"

namespace smartmig {
namespace {

PaperSection full_section() {
  PaperSection section;
  section.name = "fig7";
  section.title = "Fig. 7";
  section.note = "note";
  section.header = {"rule", "paper"};
  section.rows = {{"EDF", "17.9"}};
  section.json.push_back({{"rule", "edf"}, {"value", 0.1}});
  section.svg = "<svg/>";
  section.below = "below\n";
  section.why = "why";
  section.ours = true;
  section.claims = {{"x", 17.9, std::numeric_limits<double>::quiet_NaN(), 2, PaperClaim::Sense::kAtMost, "loose"}};
  return section;
}

TEST(KeptParts, WhatIsKeptComesBackWhole) {
  const auto dir = StateDir::make();
  ASSERT_TRUE(bool(dir));
  const KeptParts kept(dir->path + "/below/it", "program");
  const PaperPart part{"a-fig7", {{"days", 30}}, {}};
  EXPECT_FALSE(kept.find(part)) << "nothing is there yet";
  const PaperSection before = full_section();
  ASSERT_TRUE(bool(kept.keep(part, {before})));
  const auto found = kept.find(part);
  ASSERT_TRUE(found && found->size() == 1);
  const PaperSection& after = (*found)[0];
  EXPECT_EQ(after.name, before.name);
  EXPECT_EQ(after.title, before.title);
  EXPECT_EQ(after.note, before.note);
  EXPECT_EQ(after.header, before.header);
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(after.json, before.json);
  EXPECT_EQ(after.svg, before.svg);
  EXPECT_EQ(after.below, before.below);
  EXPECT_EQ(after.why, before.why);
  EXPECT_TRUE(after.ours);
  ASSERT_EQ(after.claims.size(), 1u);
  EXPECT_EQ(after.claims[0].what, "x");
  EXPECT_EQ(after.claims[0].printed, 17.9);
  EXPECT_TRUE(std::isnan(after.claims[0].measured));
  EXPECT_EQ(after.claims[0].within, 2);
  EXPECT_EQ(after.claims[0].sense, PaperClaim::Sense::kAtMost);
  EXPECT_EQ(after.claims[0].reading, "loose");
}

TEST(KeptParts, OtherSettingsAndProgramsDoNotFindIt) {
  const auto dir = StateDir::make();
  ASSERT_TRUE(bool(dir));
  const PaperPart part{"a-fig7", {{"days", 30}}, {}}, fewer{"a-fig7", {{"days", 2}}, {}};
  ASSERT_TRUE(bool(KeptParts(dir->path, "program").keep(part, {full_section()})));
  EXPECT_TRUE(KeptParts(dir->path, "program").find(part));
  EXPECT_FALSE(KeptParts(dir->path, "program").find(fewer));
  EXPECT_FALSE(KeptParts(dir->path, "another program").find(part));
}

TEST(KeptParts, ASpoiledFileIsAsIfItWereNotThere) {
  const auto dir = StateDir::make();
  ASSERT_TRUE(bool(dir));
  const KeptParts kept(dir->path, "program");
  const PaperPart part{"a-fig7", {{"days", 30}}, {}};
  ASSERT_TRUE(bool(kept.keep(part, {full_section()})));
  for (const auto& entry : std::filesystem::directory_iterator(dir->path))
    ASSERT_TRUE(bool(write_file(entry.path().string(), "{\"settings\": {\"days\": 30}, \"sections\": [{}]}")));
  EXPECT_FALSE(kept.find(part));
}

TEST(KeptParts, WithoutADirectoryNothingIsKept) {
  const KeptParts kept("", "program");
  const PaperPart part{"a-fig7", {}, {}};
  EXPECT_TRUE(bool(kept.keep(part, {full_section()})));
  EXPECT_FALSE(kept.find(part));
}

}  // namespace
}  // namespace smartmig
