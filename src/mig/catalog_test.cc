#include "mig/catalog.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::string_view kGpus = "# comment\nmodel,compute_slices,memory_slices,placements\ntoy,2,2,observed\n";
constexpr std::string_view kProfiles =
    "model,profile,variant,compute_slices,memory_slices,max_instances,starts\ntoy,1g.1gb,plain,1,1,2,0;1\ntoy,2g.2gb,"
    "plain,2,2,1,0\n";

Result<Catalog> read_catalog(std::string_view gpus, std::string_view profiles) {
  return Catalog::parse(LineReader::over("g.csv", gpus), LineReader::over("p.csv", profiles));
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  out.replace(out.find(from), from.size(), to);
  return out;
}

TEST(Catalog, ReadsASiteTable) {
  const auto catalog = read_catalog(kGpus, kProfiles);
  ASSERT_TRUE(catalog) << catalog.error().what;
  ASSERT_EQ(catalog->models().size(), 1u);
  const GpuModel& toy = *catalog->models()[0];
  EXPECT_EQ(toy.placements().size(), 3u);
  EXPECT_EQ(toy.profiles()[0].nvml_id, -1);
  EXPECT_EQ(toy.profiles()[0].memory_mib, 0);
}

TEST(Catalog, BrokenTablesSayWhere) {
  const auto expect = [](const Result<Catalog>& result, std::string_view words) {
    ASSERT_FALSE(result) << words;
    EXPECT_NE(result.error().what.find(words), std::string::npos) << result.error().what;
  };
  expect(read_catalog("", kProfiles), "g.csv is empty");
  expect(read_catalog(kGpus, ""), "p.csv is empty");
  expect(read_catalog("model,compute_slices\ntoy,2\n", kProfiles), "no column 'memory_slices'");
  expect(read_catalog(replaced(kGpus, "toy,2,2", "toy,2"), kProfiles), "g.csv line 3");
  expect(read_catalog(replaced(kGpus, "toy,2,2", "toy,nan,2"), kProfiles),
         "g.csv line 3, column 'compute_slices': 'nan'");
  expect(read_catalog(replaced(kGpus, "toy,2,2", "toy,2,99"), kProfiles), "99 memory slices");
  expect(read_catalog(replaced(kGpus, "toy,2,2", "toy,2,99999999999"), kProfiles), "out of range");
  expect(read_catalog(replaced(kGpus, "observed", "guessed"), kProfiles), "observed or inferred");
  expect(read_catalog(std::string(kGpus) + "TOY,2,2,observed\n", kProfiles), "given twice");
  expect(read_catalog(std::string(kGpus) + "other,2,2,observed\n", kProfiles), "other has no profiles");
  expect(read_catalog(kGpus, replaced(kProfiles, "toy,1g", "tot,1g")), "p.csv line 2, column 'model': 'tot'");
  expect(read_catalog(kGpus, replaced(kProfiles, "plain", "plane")), "'plane' is not a variant");
  expect(read_catalog(kGpus, replaced(kProfiles, "0;1", "0;NaN")), "column 'starts': 'NaN'");
  expect(read_catalog(kGpus, replaced(kProfiles, "0;1", "0;2")), "start 2 does not fit");
  expect(read_catalog(kGpus, replaced(kProfiles, "0;1", "")), "not known");
  expect(read_catalog(kGpus, replaced(kProfiles, "1g.1gb", "\"1g.1gb")), "not closed");
}

TEST(Catalog, BuiltinModelsAreWhole) {
  const auto models = Catalog::builtin().models();
  EXPECT_EQ(models.size(), 15u);
  std::size_t profiles = 0;
  for (const auto& model : models) {
    SCOPED_TRACE(model->name());
    profiles += model->profiles().size();
    EXPECT_FALSE(model->spec().source.empty());
    EXPECT_FALSE(model->spec().products.empty());
    EXPECT_EQ(*Catalog::builtin().find(model->name()), model);
    for (const std::string& product : model->spec().products) EXPECT_EQ(*Catalog::builtin().find(product), model);
    for (const std::string& id : model->spec().pci_ids) EXPECT_EQ(*Catalog::builtin().find(lower(id)), model);
    for (const Profile& p : model->profiles()) {
      SCOPED_TRACE(p.name);
      if (model->spec().memory_mib > 0) {
        EXPECT_LE(p.memory_mib, model->spec().memory_mib);
      }
      if (model->spec().sms > 0) {
        EXPECT_LE(p.sms, model->spec().sms);
      }
      EXPECT_EQ(p.compute_slices, std::stoi(p.name));  // "3g.20gb"
    }
  }
  EXPECT_EQ(profiles, 107u);
}

TEST(Catalog, FindsNamesAndSuggests) {
  const Catalog& catalog = Catalog::builtin();
  EXPECT_EQ((*catalog.find(" A100-40GB "))->name(), "a100-40gb");
  EXPECT_EQ((*catalog.find("H200"))->name(), "h200-141gb");
  EXPECT_EQ((*catalog.find("0x20B710DE"))->name(), "a30-24gb");
  EXPECT_NE(catalog.find("a100").error().what.find("a100-40gb, a100-80gb"), std::string::npos);
  EXPECT_NE(catalog.find("a30-24bg").error().what.find("a30-24gb"), std::string::npos);
  EXPECT_NE(catalog.find("voodoo graphics").error().what.find("it knows"), std::string::npos);
  EXPECT_FALSE(catalog.find(""));
}

}  // namespace
}  // namespace smartmig
