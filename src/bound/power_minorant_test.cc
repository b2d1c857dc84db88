// The minorant stays below the watts of every way to fill a GPU, for every share, and touches them where it should.
#include "bound/power_minorant.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/fixture.h"

namespace smartmig {
namespace {

using namespace fixture;

TEST(PowerMinorant, IsBelowTheWattsOfEveryFilling) {
  for (const char* name : {"paper", "a100-sxm", "a100-jobs", "h100-nvl", "linear:50:60:250"}) {
    const auto gpus = platform("1xa100-40gb", name);
    std::vector<Job> some;
    for (int kind = -1; kind < 4; ++kind) some.push_back(job(0, -1, linear(5), kind));
    const auto jobs = bind(some, *gpus, {"bert-infer", "resnet50-infer", "bert-train", "resnet50-train"});
    const Platform::Model& model = gpus->models()[0];
    const auto classes = slice_classes(*gpus);
    const auto layouts = model.gpu->layouts(model.gpu->schedulable_profiles());
    Rng rng(1);
    for (const double share : {0.0, 0.4, 1.0}) {
      const PowerMinorant minorant(*gpus, *jobs, classes, share);
      for (int i = 0; i < 300; ++i) {
        const Layout busy = layouts[rng.below(layouts.size())];
        std::vector<int> counts(classes.size());
        double added = 0, charged = 0;
        for (const PlacementId p : busy) {
          const JobId of{std::uint32_t(rng.below(jobs->size()))};
          const TypeId type = model.type_of_placement[index(p)];
          std::size_t k = 0;
          while (classes[k].compute_slices != gpus->type(type).compute_slices) ++k;
          ++counts[k];
          added += jobs->added_watts(of, type);
          charged += minorant.charge(of, k);
        }
        const double above = model.power.watts(model.gpu->compute_used(busy), added) - model.power.idle();
        EXPECT_LE(minorant.base(0, counts) + charged, above + 1e-9) << name << " share " << share;
        if (model.power.is_table()) {
          EXPECT_EQ(minorant.base(0, counts), above);
        }
      }
    }
  }
}

TEST(PowerMinorant, ChargesTheJobsOwnWattsBelowTheCap) {
  const auto gpus = platform("1xa100-40gb", "a100-jobs");
  const auto jobs = bind({job(0, -1, linear(5), 0), job(0, -1, linear(5), 1)}, *gpus, {"bert-infer", "resnet50-infer"});
  const auto classes = slice_classes(*gpus);
  const PowerMinorant minorant(*gpus, *jobs, classes, 1);
  std::vector<int> one(classes.size());
  one[0] = 1;
  for (const JobId j : {JobId{0}, JobId{1}})
    EXPECT_NEAR(
        minorant.base(0, one) + minorant.charge(j, 0),
        gpus->models()[0].power.watts(1, jobs->added_watts(j, classes[0].types[0])) - gpus->models()[0].power.idle(),
        1e-9);
}

}  // namespace
}  // namespace smartmig
