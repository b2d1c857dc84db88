#include "research/learn/c_api.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "research/learn/rollout.h"
#include "support/paths.h"

namespace smartmig {
namespace {

TrainConfig small() {
  TrainConfig config;
  config.workload = "paper:20x,hours=9-11";
  config.first_seed = 41;
  config.last_seed = 60;
  return config;
}

// What the trainer's collector saw, did and got: one environment, the first day of the config, a network with opinions.
struct Trajectory {
  std::string config;
  std::size_t inputs = 0, gpus = 0, steps = 0;
  std::vector<float> observations, rewards;
  std::vector<std::uint8_t> actions;
};

Trajectory collected(std::size_t steps) {
  const TrainConfig config = small();
  const auto setup = EnvSetup::make(config).value();
  const NetworkSize size{setup->inputs(), 0, int(setup->shapes.size()), {16}};
  Network network(size);  // its normaliser is the identity, so that the collector keeps raw observations
  Rng rng(9);
  for (float& p : network.parameters()) p = float(rng.normal());
  WorkerPool pool(1);
  Collector collector(setup, size, 3, 1, 7, pool);
  collector.begin().value();
  Rollout rollout(1, steps, std::size_t(size.inputs), setup->shapes.size(), 3);
  RunningStats seen(std::size_t(size.inputs));
  collector.collect(network, 0.99, rollout, seen).value();
  return {to_toml(config), std::size_t(size.inputs), setup->platform->gpus(),      steps,
          rollout.x,       rollout.reward,           collector.envs()[0].actions()};
}

TEST(CApi, ReplaysTheTrainersTrajectory) {
  const Trajectory t = collected(100);
  ASSERT_EQ(t.actions.size(), 100 * t.gpus);
  smi_env* env = smi_env_create(t.config.c_str());
  ASSERT_NE(env, nullptr) << smi_last_error();
  ASSERT_EQ(smi_env_inputs(env), int(t.inputs));
  std::vector<float> seen(t.inputs);
  ASSERT_EQ(smi_env_reset(env, 41, seen.data(), nullptr), 0) << smi_last_error();
  for (std::size_t s = 0; s < t.steps; ++s) {
    ASSERT_TRUE(std::equal(seen.begin(), seen.end(), t.observations.begin() + std::ptrdiff_t(s * t.inputs))) << s;
    double reward = 0;
    ASSERT_EQ(smi_env_step(env, t.actions.data() + s * t.gpus, seen.data(), &reward, nullptr, nullptr, nullptr), 0);
    ASSERT_EQ(float(reward), t.rewards[s]) << s;
  }
  smi_env_destroy(env);
}

TEST(CApi, TheMaskIsOneUnderPaperCostsAndKeepsBusySlicesOtherwise) {
  for (const char* cost : {"paper", "hardware"}) {
    TrainConfig config = small();
    config.cost = cost;
    smi_env* env = smi_env_create(to_toml(config).c_str());
    ASSERT_NE(env, nullptr) << smi_last_error();
    const std::size_t gpus = std::size_t(smi_env_gpus(env)), layouts = std::size_t(smi_env_layouts(env));
    std::vector<std::uint8_t> mask(gpus * layouts, 7), next(gpus);
    ASSERT_EQ(smi_env_reset(env, 41, nullptr, mask.data()), 0);
    std::size_t zeros = 0;
    for (int s = 0; s < 60; ++s) {
      ASSERT_EQ(smi_env_layout_of(env, next.data()), 0);
      for (std::size_t g = 0; g < gpus; ++g) EXPECT_EQ(mask[g * layouts + next[g]], 1) << cost;  // it can stay
      ASSERT_EQ(smi_env_step(env, next.data(), nullptr, nullptr, nullptr, nullptr, mask.data()), 0);
      for (const std::uint8_t m : mask) {
        ASSERT_LE(m, 1);
        zeros += m == 0;
      }
    }
    EXPECT_EQ(zeros > 0, std::string(cost) == "hardware");
    smi_env_destroy(env);
  }
}

TEST(CApi, SamplesFromTheMatrixOfRows) {
  smi_env* env = smi_env_create(to_toml(small()).c_str());
  ASSERT_NE(env, nullptr);
  const std::size_t layouts = std::size_t(smi_env_layouts(env));
  std::vector<float> matrix(layouts * layouts, 0);
  for (std::size_t r = 0; r < layouts; ++r) matrix[r * layouts + 6] = 1;
  std::vector<std::uint8_t> next(8, 99);
  EXPECT_EQ(smi_env_sample(env, matrix.data(), 3, 1, next.data()), -1);  // no day yet
  ASSERT_EQ(smi_env_reset(env, 60, nullptr, nullptr), 0);
  ASSERT_EQ(smi_env_sample(env, matrix.data(), 3, 1, next.data()), 0) << smi_last_error();
  EXPECT_EQ(next, std::vector<std::uint8_t>(8, 6));
  matrix[5] = -1;
  EXPECT_EQ(smi_env_sample(env, matrix.data(), 3, 1, next.data()), -1);
  matrix[5] = matrix[6] = 0;
  EXPECT_EQ(smi_env_sample(env, matrix.data(), 3, 1, next.data()), -1);
  EXPECT_NE(std::string(smi_last_error()).find("row 0"), std::string::npos);
  smi_env_destroy(env);
}

TEST(CApi, ErrorsSpeak) {
  EXPECT_EQ(smi_env_create("[env]\ngpus = \"8xnonsense\"\n"), nullptr);
  EXPECT_NE(std::string(smi_last_error()).find("nonsense"), std::string::npos);
  EXPECT_EQ(smi_env_create("what"), nullptr);
  smi_env* env = smi_env_create(to_toml(small()).c_str());
  ASSERT_NE(env, nullptr);
  std::vector<std::uint8_t> next(8, 0);
  EXPECT_EQ(smi_env_step(env, next.data(), nullptr, nullptr, nullptr, nullptr, nullptr), -1);
  EXPECT_EQ(smi_env_reset(env, 40, nullptr, nullptr), -1);
  EXPECT_NE(std::string(smi_last_error()).find("seed 40"), std::string::npos);
  ASSERT_EQ(smi_env_reset(env, 41, nullptr, nullptr), 0);
  next[3] = 12;
  EXPECT_EQ(smi_env_step(env, next.data(), nullptr, nullptr, nullptr, nullptr, nullptr), -1);
  EXPECT_NE(std::string(smi_last_error()).find("GPU 3"), std::string::npos);
  EXPECT_EQ(smi_env_layout_name(env, 12), nullptr);
  EXPECT_STREQ(smi_env_layout_name(env, 0), "7g.40gb");
  EXPECT_DOUBLE_EQ(smi_env_time_s(env) > 9 * 3600, true);
  smi_env_destroy(env);
}

std::string to_bytes(const Trajectory& t, std::uint64_t seed) {
  std::string out = "SMIGTRJ1";
  for (const std::size_t n : {t.inputs, t.gpus, t.steps, t.config.size()}) append_u32(out, std::uint32_t(n));
  append_u64(out, seed);
  out += t.config;
  for (std::size_t s = 0; s < t.steps; ++s) {
    append_floats(out, std::span(t.observations).subspan(s * t.inputs, t.inputs));
    out.append(reinterpret_cast<const char*>(t.actions.data()) + s * t.gpus, t.gpus);
    append_floats(out, std::span(t.rewards).subspan(s, 1));
  }
  return out;
}

std::pair<int, std::string> run_example(const std::string& arguments) {
  const std::string command =
      "python3 " + source_dir() + "/examples/env_ctypes.py " + env_library() + " " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {-1, "popen failed"};
  std::string output;
  for (char buffer[4096]; const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) output.append(buffer, n);
  return {pclose(pipe), output};
}

TEST(CApi, TheCtypesExampleReproducesTheTrainersTrajectory) {
  if (env_library().empty()) GTEST_SKIP() << "no interpreter loads a library with a sanitizer inside";
  Trajectory t = collected(100);
  char folder[] = "/tmp/smartmig-env-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/trajectory";
  ASSERT_TRUE(write_file(path, to_bytes(t, 41)));
  const auto same = run_example("--trajectory " + path);
  EXPECT_EQ(same.first, 0) << same.second;
  EXPECT_NE(same.second.find("100 steps equal"), std::string::npos) << same.second;
  // One bit of one reward is enough for it to fail.
  t.rewards[57] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(t.rewards[57]) ^ 1u);
  ASSERT_TRUE(write_file(path, to_bytes(t, 41)));
  const auto other = run_example("--trajectory " + path);
  EXPECT_NE(other.first, 0);
  EXPECT_NE(other.second.find("step 57"), std::string::npos) << other.second;
  const auto day = run_example("--seed 3 --workload paper:20x,hours=9-10");
  EXPECT_EQ(day.first, 0) << day.second;
  EXPECT_NE(day.second.find("return"), std::string::npos) << day.second;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace smartmig
