// The pieces of training and of a controller call, one core: a controller call (counting and network apart), steps of
// the environment, a gradient step.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "research/learn/env.h"
#include "research/learn/learner.h"
#include "support/fixture.h"

namespace {

using namespace smartmig;

PolicyFile random_policy(Features features) {
  const auto platform = fixture::platform("1xa100-40gb");
  const GpuModel& gpu = *platform->models()[0].gpu;
  Controller c;
  c.gpu = gpu.name();
  c.paper_shapes = true;
  for (const Shape& shape : paper_shapes(gpu)) c.shapes.push_back(to_string(gpu, shape));
  c.initial = {c.shapes[1]};
  c.features = features;
  c.network = Network({input_count(features, 12), 0, 12, {64, 64}});
  Rng rng(1);
  for (float& p : c.network.parameters()) p = float(0.1 * rng.normal());
  PolicyFile file;
  file.controllers.push_back(std::move(c));
  return file;
}

// A cluster in the middle of a day, load in proportion to the GPUs.
struct Midday {
  explicit Midday(std::int64_t gpus) {
    TrainConfig config;
    config.gpus = fmt::format("{}xa100-40gb", gpus);
    config.workload = fmt::format("paper:{}x,hours=10-11", 2.5 * double(gpus));
    config.initial = "2";
    env.emplace(EnvSetup::make(config).value());
    env->begin(0, std::chrono::minutes(630)).value();
  }
  std::optional<Env> env;
};

void controller_call(benchmark::State& state, bool counting) {
  const Midday day(state.range(0));
  const auto features = state.range(1) ? Features::kRich : Features::kPaper;
  auto made = MeanFieldRepartitioner::make(random_policy(features), day.env->cluster().platform(), 1);
  MeanFieldRepartitioner& policy = **made;
  policy.count(day.env->cluster());
  for (auto _ : state) {
    if (counting)
      policy.count(day.env->cluster());
    else
      policy.infer();
  }
  state.counters["unfinished_jobs"] = double(day.env->cluster().unfinished());
}
void counting(benchmark::State& state) { controller_call(state, true); }
void network(benchmark::State& state) { controller_call(state, false); }
BENCHMARK(counting)
    ->ArgNames({"gpus", "rich"})
    ->ArgsProduct({{8, 64, 512, 4096}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(network)->ArgNames({"gpus", "rich"})->ArgsProduct({{8, 4096}, {0, 1}})->Unit(benchmark::kMicrosecond);

void environment_step(benchmark::State& state) {
  TrainConfig config;
  config.features = "rich";
  Env env(EnvSetup::make(config).value());
  env.begin(0).value();
  std::vector<std::uint8_t> next(8);
  std::uint64_t number = 0;
  for (auto _ : state) {
    for (std::size_t g = 0; g < 8; ++g) {
      const std::uint64_t draw = mix64(env.decision(), g);
      next[g] = draw % 10 == 0 ? std::uint8_t(draw / 10 % 12) : env.observer().layout_of()[g];
    }
    env.act(next);
    if (env.over()) env.begin(++number).value();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(environment_step)->Unit(benchmark::kMicrosecond);

void gradient_step(benchmark::State& state) {
  const bool rich = state.range(0) == 1;
  const NetworkSize size{input_count(rich ? Features::kRich : Features::kPaper, 12), 7, 12, {64, 64}};
  WorkerPool pool(1);
  Learner learner(size, pool);
  learner.initialise(1, 2);
  const std::size_t inputs = std::size_t(size.inputs + size.foresight), samples = 1024;
  Rng rng(1);
  std::vector<float> x(samples * inputs);
  for (float& v : x) v = float(rng.normal());
  const std::vector<float> teacher(144, 1.0f / 144);
  for (auto _ : state)
    benchmark::DoNotOptimize(learner.step(
        samples, 1e-4, 0.5, [&](std::size_t first, std::size_t n, Learner::Workspace& work, LossSums& sums) {
          std::copy_n(x.data() + first * inputs, n * inputs, work.x.data());
          work.net.forward(learner.network(), work.x.data(), n, BatchNet::kBoth);
          for (std::size_t i = 0; i < n; ++i) {
            sums.policy += imitation_loss(teacher, 12, 1e-3, work.net.logits(i), work.net.d_logits(i));
            work.net.d_value(i) = 1e-3f * work.net.value(i);
          }
        }));
  state.SetItemsProcessed(state.iterations() * std::int64_t(samples));
}
BENCHMARK(gradient_step)->ArgName("rich")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
