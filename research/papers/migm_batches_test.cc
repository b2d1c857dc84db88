#include "research/papers/migm_batches.h"

#include <gtest/gtest.h>

#include "mig/catalog.h"

namespace smartmig {
namespace {

const GpuModel& a100() { return *Catalog::builtin().find("a100-40gb").value(); }

TEST(MigmBatchesTest, BatchesAreTheSameEachTimeAndFitTheGpu) {
  for (const BatchKind& batch : batch_kinds()) {
    const auto once = make_batch(batch.name, 5, 40), again = make_batch(batch.name, 5, 40),
               other = make_batch(batch.name, 6, 40);
    ASSERT_TRUE(once && again && other);
    bool differs = false;
    for (std::size_t i = 0; i < once->size(); ++i) {
      const BatchJob& job = (*once)[i];
      EXPECT_EQ(job.script().to_environment(), (*again)[i].script().to_environment());
      differs |= job.script().to_environment() != (*other)[i].script().to_environment();
      EXPECT_DOUBLE_EQ(job.speed[6], 1) << job.kind;
      for (const int k : {1, 2, 3, 4}) {
        EXPECT_GT(job.speed[std::size_t(k - 1)], 0.05) << job.kind << " on " << k;
        EXPECT_LT(job.speed[std::size_t(k - 1)], 1.01) << job.kind << " on " << k;
      }
      EXPECT_LE(job.peak_mib(), 40320);
      EXPECT_TRUE(EmulatedScript::of(job.script().to_environment()));
    }
    EXPECT_TRUE(differs) << batch.name;
    EXPECT_GE(throughput_bound(*once, a100()), 1) << batch.name;
    EXPECT_LE(throughput_bound(*once, a100()), 8) << batch.name;
  }
  EXPECT_FALSE(make_batch("generl", 1, 4));
  EXPECT_FALSE(make_batch("general", 1, 0));
}

TEST(MigmBatchesTest, CurvesAreThoseOfTheTables) {
  const auto llm = make_batch("llm-shared", 1, 1), alone = make_batch("llm", 1, 1);
  ASSERT_TRUE(llm && alone);
  EXPECT_NEAR((*alone)[0].speed[0], 1345.285 / 4043.423, 1e-9);
  EXPECT_NEAR((*llm)[0].speed[0], 6659.087 / 7 / 4043.423, 1e-9) << "seven at once";
  EXPECT_LT((*llm)[0].speed[2], (*alone)[0].speed[2]);
  const auto general = make_batch("general", 1, 200);
  ASSERT_TRUE(general);
  for (const BatchJob& job : *general) {
    if (job.kind == "gaussian") {
      EXPECT_NEAR(job.speed[0] / job.speed[3], 0.0448211 / 0.15657, 1e-9);
    } else if (job.kind == "nw") {
      EXPECT_DOUBLE_EQ(job.speed[3], 1) << "no slice is slower than a smaller one";
    } else if (job.kind == "lavamd") {
      EXPECT_GT(job.peak_mib(), 5900) << "it did not run on 1g.6gb";
    }
  }
}

TEST(MigmBatchesTest, TheBoundCountsSlicesThatHaveTheMemory) {
  BatchJob linear;
  linear.whole_s = 200;
  for (const int k : {1, 2, 3, 4, 7}) linear.speed[std::size_t(k - 1)] = k / 7.0;
  linear.memory = {{0, 1000}};
  EXPECT_NEAR(throughput_bound({linear}, a100()), 1, 1e-9) << "linear: nothing to win";
  BatchJob flat = linear;
  flat.speed = {1, 1, 1, 1, 0, 0, 1};
  EXPECT_NEAR(throughput_bound({flat}, a100()), 7, 1e-9);
  flat.memory = {{0, 15000}};  // 3g.20gb: half the memory
  EXPECT_NEAR(throughput_bound({flat}, a100()), 2, 1e-9);
  // Slices of one: half of the jobs need 2 of 8 memory slices each, the others 1: memory runs out before compute.
  BatchJob small = flat;
  small.memory = {{0, 1000}};
  flat.memory = {{0, 9000}};
  EXPECT_NEAR(throughput_bound({flat, small}, a100()), 2 / (3.0 / 8), 0.01);
  flat.memory = {{0, 30000}};
  EXPECT_NEAR(throughput_bound({flat}, a100()), 1, 1e-9);
}

}  // namespace
}  // namespace smartmig
