#include "memory/memory_estimate.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

constexpr double kMib = 1048576;

MemoryQuestion ask(const char* model, bool training, Precision precision, double batch, double context) {
  MemoryQuestion q;
  q.model = find_model(model).value();
  q.training = training;
  q.precision = precision;
  q.batch = batch;
  q.context = context;
  return q;
}

TEST(MemoryEstimate, MixedAdamIsSixteenBytesPerParameter) {
  const MemoryParts p = estimate_memory(ask("gpt2-xl", true, Precision::kBf16, 1, 128)).value();
  EXPECT_NEAR((p.weights + p.gradients + p.optimiser) / 1557.6e6, 16, 1e-9);
  auto q = ask("gpt2-xl", true, Precision::kFp32, 1, 128);
  q.optimiser = Optimiser::kSgd;
  const MemoryParts sgd = estimate_memory(q).value();
  EXPECT_NEAR((sgd.weights + sgd.gradients + sgd.optimiser) / 1557.6e6, 8, 1e-9);
  q.optimiser = Optimiser::kAdam8bit;
  EXPECT_NEAR(estimate_memory(q)->optimiser / 1557.6e6, 2, 1e-9);
  q.optimiser = Optimiser::kAdafactor;
  EXPECT_LT(estimate_memory(q)->optimiser / 1557.6e6, 0.01);
}

TEST(MemoryEstimate, KvCacheOfKnownModels) {
  // Llama 2 7B keeps 2 x 32 layers x 4096 x 2 bytes = 512 KiB per token; Llama 3 8B a quarter of that by grouped heads.
  EXPECT_NEAR(estimate_memory(ask("llama2-7b", false, Precision::kFp16, 1, 4096))->kv_cache / kMib, 2048, 1);
  EXPECT_NEAR(estimate_memory(ask("llama3-8b", false, Precision::kFp16, 1, 4096))->kv_cache / kMib, 512, 1);
  EXPECT_NEAR(estimate_memory(ask("llama3-8b", false, Precision::kInt8, 8, 4096))->kv_cache / kMib, 8 * 512, 1);
  EXPECT_EQ(estimate_memory(ask("llama3-8b", true, Precision::kBf16, 1, 128))->kv_cache, 0);
}

// Peaks reserved by PyTorch on an H200 (research/data/memory_curves.csv): the estimate without the CUDA context within 20 %.
TEST(MemoryEstimate, AgreesWithMeasuredJobs) {
  const auto check = [](const char* model, double batch, double context, double measured_mib) {
    MemoryQuestion q = ask(model, true, Precision::kFp32, batch, context);
    q.overhead_mib = 0;
    EXPECT_NEAR(estimate_memory(q)->total_mib() / measured_mib, 1, 0.2) << model;
  };
  check("bert-base", 32, 128, 5348);
  check("resnet50", 64, 0, 6738);
}

TEST(MemoryEstimate, CheckpointingAndAccumulationSaveActivations) {
  auto q = ask("opt-1.3b", true, Precision::kBf16, 8, 2048);
  const MemoryParts plain = estimate_memory(q).value();
  q.accumulate = 8;
  EXPECT_NEAR(estimate_memory(q)->activations, plain.activations / 8, 1);
  q.accumulate = 1;
  q.checkpointing = true;
  EXPECT_LT(estimate_memory(q)->activations, plain.activations / 8);
  q.checkpointing = false;
  q.plain_attention = true;
  EXPECT_GT(estimate_memory(q)->activations, plain.activations * 2);
}

TEST(MemoryEstimate, GrowsWithEverythingThatIsMore) {
  double last = 0;
  for (const double batch : {1, 2, 8, 64}) {
    const double total = estimate_memory(ask("bert-large", true, Precision::kBf16, batch, 128))->total();
    EXPECT_GT(total, last);
    last = total;
  }
  for (const NeuralModel& model : model_presets())
    for (const bool training : {true, false}) {
      MemoryQuestion q;
      q.model = model;
      q.training = training;
      const auto parts = estimate_memory(q);
      ASSERT_TRUE(parts) << model.name;
      EXPECT_GT(parts->total(), 2 * model.params) << model.name;
    }
}

TEST(MemoryEstimate, SaysWhatIsMissing) {
  const auto complaint = [](const MemoryQuestion& q) { return estimate_memory(q).error().what; };
  MemoryQuestion q;
  EXPECT_NE(complaint(q).find("parameters"), std::string::npos);
  q.model.params = 1e9;
  q.model.layers = 4;
  EXPECT_NE(complaint(q).find("transformer needs"), std::string::npos);
  q = ask("gpt2", true, Precision::kInt4, 1, 0);
  EXPECT_NE(complaint(q).find("inference"), std::string::npos);
  q = ask("gpt2", true, Precision::kBf16, 4, 0);
  q.accumulate = 5;
  EXPECT_NE(complaint(q).find("micro-batches"), std::string::npos);
  EXPECT_NE(find_model("lama3-8b").error().what.find("did you mean llama3-8b?"), std::string::npos);
  EXPECT_FALSE(parse_optimiser("adamx"));
  EXPECT_FALSE(parse_precision("fp12"));
  EXPECT_EQ(parse_precision("mixed").value(), Precision::kBf16);
}

}  // namespace
}  // namespace smartmig
