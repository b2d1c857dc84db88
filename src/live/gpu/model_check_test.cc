#include "live/gpu/model_check.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

std::vector<SeenProfile> as_nvml_tells(const GpuModel& model) {
  std::vector<SeenProfile> seen;
  for (const Profile& p : model.profiles())
    seen.push_back({p.nvml_enum, p.nvml_id >= 0 ? p.nvml_id : 100 + p.nvml_enum, p.compute_slices,
                    p.sms > 0 ? p.sms : 8, p.memory_mib > 0 ? p.memory_mib : 1000, true, p.memory_slices, p.starts});
  return seen;
}

TEST(ModelCheckTest, EveryCatalogueModelAgreesWithItself) {
  for (const auto& model : Catalog::builtin().models()) {
    const auto check = check_model(model, as_nvml_tells(*model));
    ASSERT_TRUE(check) << check.error().what;
    EXPECT_TRUE(check->notes.empty()) << model->name() << ": " << check->notes[0];
    for (const Profile& p : check->model->profiles()) EXPECT_GE(p.nvml_id, 0) << "unknown ids are filled in";
  }
}

TEST(ModelCheckTest, DisagreementNamesTheProfile) {
  const auto model = *Catalog::builtin().find("h200-141gb");
  const auto refused = [&](auto change) {
    auto seen = as_nvml_tells(*model);
    change(seen);
    const auto check = check_model(model, seen);
    return check ? std::string() : check.error().what;
  };
  EXPECT_NE(refused([](auto& s) { s[4].starts = {0}; }).find("3g.71gb"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s[4].nvml_id = 8; }).find("3g.71gb"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s[0].compute_slices = 2; }).find("1g.18gb"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s[0].length = 2; }).find("memory slices"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.pop_back(); }).find("7g.141gb"), std::string::npos);
}

TEST(ModelCheckTest, HarmlessDifferencesAreNotes) {
  const auto model = *Catalog::builtin().find("h200-141gb");
  auto seen = as_nvml_tells(*model);
  seen[0].memory_mib -= 1500;  // within what drivers differ by
  seen[1].sms = 14;
  seen[2].placements_known = false;
  seen.push_back({17, 99, 3, 60, 70000, true, 4, {0, 4}});
  const auto check = check_model(model, seen);
  ASSERT_TRUE(check);
  ASSERT_EQ(check->notes.size(), 3u);
  EXPECT_NE(check->notes[0].find("14 SMs"), std::string::npos);
  EXPECT_NE(check->notes[2].find("99"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
