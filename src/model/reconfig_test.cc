#include "model/reconfig.h"

#include <gtest/gtest.h>

#include "base/embedded.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

ReconfigTime time_of(const char* gpu, std::string_view profile) {
  const GpuModel& model = **Catalog::builtin().find(gpu);
  return reconfig_time(model, model.find_profile(profile));
}

TEST(Reconfig, MeasuredFamilies) {
  EXPECT_EQ(time_of("a30-24gb", "4g").create, from_seconds(0.13));
  EXPECT_EQ(time_of("a100-40gb", "1g").create, from_seconds(0.16));
  EXPECT_EQ(time_of("a100-40gb", "1g.10gb").destroy, from_seconds(0.20));
  EXPECT_EQ(time_of("a100-80gb", "7g").destroy, from_seconds(0.22));
  EXPECT_EQ(time_of("h100-80gb-sxm", "3g").create, from_seconds(0.33));
  EXPECT_EQ(time_of("h200-141gb", "7g").create, from_seconds(0.42));  // nearest family: H100
}

TEST(Reconfig, EveryModelHasARowAndLargerTakesNoLess) {
  const std::string_view table = embedded_file("reconfig.csv");
  for (const auto& model : Catalog::builtin().models()) {
    EXPECT_NE(table.find("," + model->name() + ","), table.npos) << model->name();
    for (std::size_t i = 0; i < model->profiles().size(); ++i)
      for (std::size_t j = 0; j < model->profiles().size(); ++j) {
        const ReconfigTime a = reconfig_time(*model, int(i)), b = reconfig_time(*model, int(j));
        EXPECT_GT(a.create.count(), 0);
        EXPECT_GT(a.destroy.count(), 0);
        if (model->profiles()[i].compute_slices <= model->profiles()[j].compute_slices) {
          EXPECT_LE(a.create, b.create);
          EXPECT_LE(a.destroy, b.destroy);
        }
      }
  }
}

TEST(Reconfig, ModelsOutsideTheTableUseTheStarRow) {
  GpuModelSpec spec;
  spec.name = "future";
  spec.compute_slices = spec.memory_slices = 8;
  spec.profiles = {{"6g", -1, -1, 6, 6, 0, 0, 1, Variant::kPlain, {0}},
                   {"8g", -1, -1, 8, 8, 0, 0, 1, Variant::kPlain, {0}}};
  const auto model = GpuModel::make(spec);
  ASSERT_TRUE(model);
  EXPECT_EQ(reconfig_time(*model, 0).create, from_seconds(0.42));  // next larger size listed
  EXPECT_EQ(reconfig_time(*model, 1).create, from_seconds(0.42));  // none larger: the largest
}

}  // namespace
}  // namespace smartmig
