// Micro-benchmarks of the decisions about slices: which slice of a GPU to give, what a reshape is, how fragmented a GPU is.
#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "live/gpu/reshape.h"
#include "mig/catalog.h"
#include "mig/fragmentation.h"
#include "mig/slice_choice.h"

namespace smartmig {
namespace {

// A100s, each with a random layout of which about half is taken.
std::vector<SliceRoom> random_rooms(const GpuModel& model) {
  const auto layouts = model.layouts(model.schedulable_profiles());
  Rng rng(3);
  std::vector<SliceRoom> rooms;
  for (int i = 0; i < 128; ++i) {
    const Layout layout = layouts[rng.below(layouts.size())];
    rooms.push_back({layout, layout, model.subset(layout, std::uint32_t(rng.next()))});
  }
  return rooms;
}

void choose_slice_of_one_gpu(benchmark::State& state) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  const SliceChoice choice(*model);
  const std::vector<SliceRoom> rooms = random_rooms(*model);
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(choice.best(rooms[i % rooms.size()], int(i % 7)));
    ++i;
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
  const auto model = *Catalog::builtin().find("a100-40gb");
  const FragmentationTable table(*model);
  const std::vector<SliceRoom> rooms = random_rooms(*model);
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(table.of(rooms[i++ % rooms.size()].taken));
}

void build_tables_of_a_model(benchmark::State& state) {
  const auto model = *Catalog::builtin().find("a100-40gb");
  for (auto _ : state) benchmark::DoNotOptimize(CompleteLayouts(*model));
}

BENCHMARK(choose_slice_of_one_gpu);
BENCHMARK(plan_one_reshape);
BENCHMARK(fragmentation_of_one_gpu);
BENCHMARK(build_tables_of_a_model);

}  // namespace
}  // namespace smartmig
