#include "research/papers/migbench_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/math.h"
#include "sim/workload_spec.h"

namespace smartmig {
namespace {

constexpr double kNormalTail = 3.442619855899, kNormalArea = 9.91256303526217e-3;
constexpr double kExponentialTail = 7.69711747013104972, kExponentialArea = 3.949659822581572e-3;
constexpr std::array<double, 4> kProfileWeights = {35, 25, 25, 5};

template <std::size_t N>
struct Ziggurat {
  std::array<std::uint32_t, N> inside{};  // a draw below it lies in its layer
  std::array<float, N> width{}, height{};
};

// `density` falls from 1 at 0; `inverse` gives the x of a density.
template <std::size_t N, class Density, class Inverse>
Ziggurat<N> make_ziggurat(double tail, double area, double range, Density density, Inverse inverse) {
  Ziggurat<N> out;
  double x = tail, outer = tail;
  const double base = area / density(x);
  out.inside[0] = std::uint32_t(x / base * range);
  out.width[0] = float(base / range);
  out.width[N - 1] = float(x / range);
  out.height[0] = 1;
  out.height[N - 1] = float(density(x));
  for (std::size_t i = N - 2; i >= 1; --i) {
    x = inverse(area / x + density(x));
    out.inside[i + 1] = std::uint32_t(x / outer * range);
    outer = x;
    out.height[i] = float(density(x));
    out.width[i] = float(x / range);
  }
  return out;
}

const Ziggurat<128>& normal_layers() {
  static const auto table = make_ziggurat<128>(
      kNormalTail, kNormalArea, 2147483648.0, [](double x) { return deterministic_exp(-.5 * x * x); },
      [](double y) { return std::sqrt(-2 * deterministic_log(y)); });
  return table;
}

const Ziggurat<256>& exponential_layers() {
  static const auto table = make_ziggurat<256>(
      kExponentialTail, kExponentialArea, 4294967296.0, [](double x) { return deterministic_exp(-x); },
      [](double y) { return -deterministic_log(y); });
  return table;
}

}  // namespace

std::uint64_t GoRandom::next() {
  using Wide = unsigned __int128;
  constexpr Wide multiplier = (Wide(2549297995355413924ULL) << 64) | 4865540595714422341ULL;
  constexpr Wide increment = (Wide(6364136223846793005ULL) << 64) | 1442695040888963407ULL;
  const Wide state = ((Wide(high_) << 64) | low_) * multiplier + increment;
  high_ = std::uint64_t(state >> 64);
  low_ = std::uint64_t(state);
  std::uint64_t out = high_;
  out ^= out >> 32;
  out *= 0xda942042e4dd58b5ULL;
  out ^= out >> 48;
  return out * (low_ | 1);
}

double GoRandom::uniform() { return double(next() << 11 >> 11) / double(1ULL << 53); }

double GoRandom::normal() {
  const auto& layers = normal_layers();
  for (;;) {
    const std::uint64_t bits = next();
    const std::int64_t j = std::int32_t(std::uint32_t(bits));
    const std::size_t i = bits >> 32 & 0x7F;
    double x = double(j) * double(layers.width[i]);
    if (std::uint32_t(std::abs(j)) < layers.inside[i]) return x;
    if (i == 0) {
      for (;;) {
        x = -deterministic_log(uniform()) * (1.0 / kNormalTail);
        const double y = -deterministic_log(uniform());
        if (y + y >= x * x) return j > 0 ? kNormalTail + x : -kNormalTail - x;
      }
    }
    if (layers.height[i] + float(uniform()) * (layers.height[i - 1] - layers.height[i]) <
        float(deterministic_exp(-.5 * x * x)))
      return x;
  }
}

double GoRandom::exponential() {
  const auto& layers = exponential_layers();
  for (;;) {
    const std::uint64_t bits = next();
    const std::uint32_t j = std::uint32_t(bits);
    const std::size_t i = bits >> 32 & 0xFF;
    const double x = double(j) * double(layers.width[i]);
    if (j < layers.inside[i]) return x;
    if (i == 0) return kExponentialTail - deterministic_log(uniform());
    if (layers.height[i] + float(uniform()) * (layers.height[i - 1] - layers.height[i]) < float(deterministic_exp(-x)))
      return x;
  }
}

std::vector<MigbenchJob> migbench_jobs(const MigbenchSetting& setting) {
  const auto& profiles = migbench_profiles();
  GoRandom random(setting.seed, setting.seed ^ 0x9e3779b97f4a7c15ULL);
  double total = 0, occupied = 0;  // occupied: GPC x ms
  for (const double weight : kProfileWeights) total += weight;
  std::vector<MigbenchJob> jobs;
  for (int i = 0; i < setting.jobs; ++i) {
    double x = random.uniform() * total;
    std::size_t which = 0;
    while (which + 1 < profiles.size() && (x -= kProfileWeights[which]) > 0) ++which;
    const double drawn = deterministic_exp(deterministic_log(setting.median_ms) + setting.sigma * random.normal());
    const std::int64_t duration = std::max<std::int64_t>(1, std::int64_t(drawn));
    jobs.push_back({0, duration * profiles[which].percent, profiles[which].memory_mb});
    occupied += profiles[which].slices * double(duration);
  }
  // Arrivals have their own random numbers.
  const double mean = occupied / double(setting.jobs * setting.gpus * 7) / setting.offered_load;
  GoRandom arrivals(setting.seed ^ 0xd1b54a32d192ed03ULL, setting.seed ^ 0x94d049bb133111ebULL);
  std::int64_t now = 0;
  for (MigbenchJob& job : jobs) job.arrival_ms = now += std::int64_t(arrivals.exponential() * mean);
  return jobs;
}

Result<Workload> migbench_workload(const MigbenchSetting& setting) {
  Workload workload;
  workload.source = fmt::format("MIGBench, seed {}", setting.seed);
  workload.reference_gpu = "h100-80gb-sxm";
  workload.seed = setting.seed;
  workload.generated = true;
  for (const MigbenchJob& job : migbench_jobs(setting)) {
    workload.jobs.push_back(to_job(job));
    workload.names.push_back(fmt::format("job-{:06}", workload.jobs.size()));
  }
  workload.rules = {
      fmt::format("{} jobs, offered load {}, as MIGBench makes them", setting.jobs, setting.offered_load)};
  return finish_workload(std::move(workload));
}

}  // namespace smartmig
