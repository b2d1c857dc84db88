// Micro-benchmarks of the simulator: one day of 8 GPUs by policy, and the pieces under it.
#include <benchmark/benchmark.h>

#include "eval/experiment.h"
#include "sim/simulate.h"

namespace smartmig {
namespace {

const Setting& setting() {
  static const Setting value{std::make_shared<Platform>(*Platform::parse("8xa100-40gb")), "paper:20x", {}, 2e-7, {}};
  return value;
}

void day(benchmark::State& state, const char* policy, bool plain) {
  const auto day = make_day(setting(), 200'000);
  Contender contender = contender_of(policy, {});
  contender.options.plain = plain;
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto summary = run_day(setting(), contender, *day);
    events += summary->events;
  }
  state.counters["events/s"] = benchmark::Counter(double(events), benchmark::Counter::kIsRate);
}

void generate_day(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(load_workload("paper:20x,seed=7"));
}

void enumerate_layouts(benchmark::State& state) {
  const GpuModel& gpu = *setting().platform->models()[0].gpu;
  for (auto _ : state) benchmark::DoNotOptimize(gpu.layouts(gpu.schedulable_profiles()));
}

void realise(benchmark::State& state) {
  const ShapeTable& shapes = *setting().platform->models()[0].shapes;
  const Layout busy = *parse_layout(shapes.model(), "2g@4+1g@6");
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(shapes.realise(shapes.shapes()[i++ % shapes.shapes().size()], busy, busy));
}

BENCHMARK_CAPTURE(day, cedf_fast, "static+cedf", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(day, cedf_plain, "static+cedf", true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(day, edf, "static+edf", false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(day, met, "static+met", false)->Unit(benchmark::kMillisecond);
BENCHMARK(generate_day)->Unit(benchmark::kMillisecond);
BENCHMARK(enumerate_layouts);
BENCHMARK(realise);

}  // namespace
}  // namespace smartmig
