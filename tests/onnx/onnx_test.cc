#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "onnx/onnx_parity.h"
#include "research/learn/onnx_writer.h"
#include "research/learn/trainer.h"

namespace smartmig {
namespace {

PolicyFile trained(const char* features, bool foresight, std::vector<std::int64_t> hidden = {16, 8}) {
  TrainConfig config;
  config.gpus = "8xa100-40gb";
  config.workload = "paper:20x,hours=9-11";
  config.features = features;
  config.foresight = foresight;
  config.hidden = std::move(hidden);
  config.num_envs = 2;
  config.num_steps = 32;
  config.minibatch = 16;
  config.total_jobs = 400;
  config.eval_days = 0;
  auto trainer = std::move(Trainer::make(config, 1).value());
  trainer->start().value();
  while (!trainer->finished()) trainer->update().value();
  PolicyFile file = trainer->policy();
  Rng rng(5);  // an untrained head answers with equal probabilities: give it opinions
  for (float& p : file.controllers[0].network.parameters()) p += float(0.5 * rng.normal());
  return file;
}

Parity checked(const PolicyFile& file, const std::string& bytes) {
  const auto model = parse_onnx("test", bytes);
  EXPECT_TRUE(model) << model.error().what;
  const auto cases = parity_cases(file, file.controllers[0], 20, 20, 3);
  EXPECT_TRUE(cases) << cases.error().what;
  const auto parity = parity_of(*model, file.controllers[0], *cases);
  EXPECT_TRUE(parity) << parity.error().what;
  return *parity;
}

TEST(Onnx, AgreesWithOurInference) {
  for (const char* features : {"paper", "rich", "hardware"})
    for (const bool foresight : {false, true}) {
      const PolicyFile file = trained(features, foresight);
      const Parity parity = checked(file, to_onnx(file.controllers[0]));
      EXPECT_TRUE(parity.holds()) << features << ": " << parity.matrix << ", " << parity.value << ", "
                                  << parity.row_sum;
      EXPECT_EQ(parity.cases, 40u);
      EXPECT_EQ(parity.recorded, 20u);
    }
  EXPECT_TRUE(checked(trained("paper", false, {}), to_onnx(trained("paper", false, {}).controllers[0])).holds());
}

TEST(Onnx, AWrongWeightIsSeen) {
  const PolicyFile file = trained("paper", false);
  for (const std::size_t which : {std::size_t(3), file.controllers[0].network.parameters().size() - 1}) {
    Controller changed = file.controllers[0];
    changed.network.parameters()[which] += 0.5f;
    EXPECT_FALSE(checked(file, to_onnx(changed)).holds()) << which;
  }
  Controller changed = file.controllers[0];
  for (float& m : changed.network.mean()) m += 0.1f;
  EXPECT_FALSE(checked(file, to_onnx(changed)).holds());
}

TEST(Onnx, TheMaskForbids) {
  const PolicyFile file = trained("paper", false);
  const Controller& controller = file.controllers[0];
  auto cases = std::move(parity_cases(file, controller, 0, 2, 1).value());
  const auto model = std::move(parse_onnx("test", to_onnx(controller)).value());
  OnnxTensors inputs;
  inputs["observation"] = {{1, 53}, {cases[0].observation.begin(), cases[0].observation.end()}};
  inputs["mask"] = {{1, 12, 12}, std::vector<double>(144, 0)};
  for (std::size_t r = 1; r < 12; ++r) inputs["mask"].values[r * 12 + 4] = 1;  // row 0: nothing is allowed
  const auto matrix = run_onnx(model, inputs).value().at("matrix");
  for (std::size_t j = 0; j < 12; ++j) {
    EXPECT_NEAR(matrix.values[j], 1.0 / 12, 1e-12);
    EXPECT_EQ(matrix.values[5 * 12 + j], j == 4 ? 1.0 : 0.0);
  }
}

TEST(Onnx, SaysWhatItIs) {
  const PolicyFile file = trained("paper", false);
  const auto model = std::move(parse_onnx("test", to_onnx(file.controllers[0])).value());
  EXPECT_EQ(model.opset, 13);
  EXPECT_EQ(model.ir_version, 7);
  ASSERT_EQ(model.inputs.size(), 2u);
  EXPECT_EQ(model.inputs[0].dimensions, (std::vector<std::int64_t>{-1, 53}));
  EXPECT_EQ(model.outputs[0].dimensions, (std::vector<std::int64_t>{-1, 12, 12}));
  EXPECT_EQ(model.outputs[1].dimensions, (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(model.metadata.at("gpu"), "a100-40gb");
  EXPECT_EQ(model.metadata.at("top_k"), "3");
}

TEST(Onnx, DamageIsRefused) {
  const std::string bytes = to_onnx(trained("paper", false).controllers[0]);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + cut / 7) {
    const auto model = parse_onnx("cut.onnx", bytes.substr(0, cut));
    if (!model) continue;  // cut between two fields: then the opset is missing
    ADD_FAILURE() << "accepted the first " << cut << " of " << bytes.size() << " bytes";
  }
  EXPECT_NE(parse_onnx("x.onnx", "not a model").error().what.find("x.onnx"), std::string::npos);
  std::string other = bytes;  // another operator of the same length
  const auto at = other.find("Gemm");
  ASSERT_NE(at, other.npos);
  other.replace(at, 4, "Conv");
  const auto model = std::move(parse_onnx("x", other).value());
  OnnxTensors inputs;
  inputs["observation"] = {{1, 53}, std::vector<double>(53)};
  inputs["mask"] = {{1, 12, 12}, std::vector<double>(144, 1)};
  EXPECT_NE(run_onnx(model, inputs).error().what.find("Conv"), std::string::npos);
  inputs["observation"] = {{1, 52}, std::vector<double>(52)};
  EXPECT_NE(run_onnx(model, inputs).error().what.find("observation"), std::string::npos);
}

TEST(Onnx, ParityFileIsJson) {
  const PolicyFile file = trained("rich", true);
  const auto cases = std::move(parity_cases(file, file.controllers[0], 2, 2, 1).value());
  const auto json = nlohmann::json::parse(parity_json("m.onnx", file.controllers[0], cases));
  ASSERT_EQ(json["cases"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(json["cases"][i]["observation"].get<std::vector<float>>(), cases[i].observation);
    EXPECT_EQ(json["cases"][i]["matrix"].get<std::vector<float>>(), cases[i].matrix);
    EXPECT_EQ(json["cases"][i]["value"].get<float>(), cases[i].value);
  }
}

}  // namespace
}  // namespace smartmig
