// Micro-benchmarks of the decisions about slices: which of 8 GPUs gives one, what a reshape is, how fragmented a GPU
// is.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "live/gpu/partition_manager.h"
#include "live/gpu/reshape.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

// 8 A100s, each with a random layout of which about half is busy.
PartitionManager fleet(std::uint64_t seed) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  PartitionManager manager(std::vector(8, model));
  const auto layouts = model->layouts(model->schedulable_profiles());
  Rng rng(seed);
  for (std::uint32_t g = 0; g < 8; ++g) {
    const Layout layout = layouts[rng.below(layouts.size())];
    manager.set(GpuId{g}, layout, model->subset(layout, std::uint32_t(rng.next())));
  }
  return manager;
}

void choose_slice_among_8_gpus(benchmark::State& state) {
  std::vector<PartitionManager> worlds;
  for (std::uint64_t seed = 0; seed < 16; ++seed) worlds.push_back(fleet(seed));
  std::size_t i = 0;
  for (auto _ : state) {
    const int profile[] = {int(i % 7)};
    benchmark::DoNotOptimize(worlds[i++ % worlds.size()].choose(profile));
  }
}

void plan_one_reshape(benchmark::State& state) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  const auto layouts = model->layouts(model->schedulable_profiles());
  Rng rng(1);
  std::vector<std::pair<Layout, Layout>> pairs;
  for (int i = 0; i < 1024; ++i)
    pairs.emplace_back(layouts[rng.below(layouts.size())], layouts[rng.below(layouts.size())]);
  std::size_t i = 0;
  for (auto _ : state) {
    const auto& [from, to] = pairs[i++ % pairs.size()];
    benchmark::DoNotOptimize(plan_reshape(*model, from, from & to, to));
  }
}

void fragmentation_of_one_gpu(benchmark::State& state) {
  const PartitionManager manager = fleet(3);
  std::uint32_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(manager.fragmentation(GpuId{i++ % 8}));
}

void build_tables_of_a_model(benchmark::State& state) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  for (auto _ : state) benchmark::DoNotOptimize(ReachTable(*model));
}

BENCHMARK(choose_slice_among_8_gpus);
BENCHMARK(plan_one_reshape);
BENCHMARK(fragmentation_of_one_gpu);
BENCHMARK(build_tables_of_a_model);

}  // namespace
}  // namespace smartmig
