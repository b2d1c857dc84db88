#include "research/papers/far_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/rng.h"

namespace smartmig {
namespace {

constexpr FarFamily kFamilies[] = {{"good", {0, 0, 0, .5, .5}, .75, 90, 100, 1.08, 1.09},
                                   {"bad", {.5, .5, 0, 0, 0}, .25, 90, 100, 1.13, 1.04},
                                   {"mix", {.2, .2, .2, .2, .2}, .5, 90, 100, 1.15, 1.07},
                                   {"extreme", {.45, .05, 0, .05, .45}, .5, 90, 100, 1.14, 1.09},
                                   {"wide", {.2, .2, .2, .2, .2}, .5, 1, 100, 1.12, 1.06}};
constexpr int kFarSizes[] = {1, 2, 3, 4, 7};

// How many of `count` jobs scale up to each size: whole numbers, the largest remainders rounded up.
std::array<int, 5> counts_of(const FarFamily& family, int count) {
  std::array<int, 5> out{};
  std::array<std::pair<double, std::size_t>, 5> rest;
  int given = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    out[i] = int(family.scale_to[i] * count + 1e-9);
    rest[i] = {out[i] - family.scale_to[i] * count, i};
    given += out[i];
  }
  std::sort(rest.begin(), rest.end());
  for (std::size_t i = 0; given < count; ++i, ++given) ++out[rest[i].second];
  return out;
}

// t(s) = t(s - 1) * (s - 1 + gap) / s: a gap of 0 is perfect scaling, a gap of 1 none.
Job draw_job(const FarFamily& family, int scales_to, bool memory_bound, Rng& rng) {
  Job job;
  const auto gap = [&](double mean, double deviation, double least, double most) {
    return std::clamp(mean + deviation * rng.normal(), least, most);
  };
  double time_s = rng.uniform(family.least_s, family.most_s);
  job.work[0] = from_seconds(time_s);
  for (int s = 2; s <= 7; ++s) {
    double g;
    if (s > scales_to || (memory_bound && s == 4)) {  // the fourth slice brings no memory
      g = gap(0.75, 0.25, 0.5, 1);
    } else if (memory_bound) {
      g = gap(-0.25, 0.25, -0.3, 0);
      memory_bound = rng.uniform() > 0.1;
    } else {
      g = gap(0.05, 0.05, 0, 0.1);
    }
    time_s *= (s - 1 + g) / s;
    if (s != 5 && s != 6) job.work[std::size_t(s - 1)] = from_seconds(time_s);
  }
  return job;
}

}  // namespace

std::span<const FarFamily> far_families() { return kFamilies; }

Workload far_batch(const FarFamily& family, int count, std::uint64_t seed) {
  Workload batch;
  batch.source = fmt::format("far:{},jobs={},seed={}", family.name, count, seed);
  batch.seed = seed;
  batch.generated = true;
  Rng rng(seed, std::uint64_t(count));
  const std::array<int, 5> counts = counts_of(family, count);
  for (std::size_t i = 0; i < 5; ++i)
    for (int k = 0; k < counts[i]; ++k)
      batch.jobs.push_back(draw_job(family, kFarSizes[i], k < int(counts[i] * family.memory_bound), rng));
  return batch;
}

double area_bound_s(const Workload& batch) {
  double sum = 0;
  for (const Job& job : batch.jobs) {
    double least = -1;
    for (const int s : kFarSizes)
      if (job.work_on(s) >= Time{0} && (least < 0 || seconds(job.work_on(s)) * s < least))
        least = seconds(job.work_on(s)) * s;
    sum += std::max(0.0, least);
  }
  return sum / 7;
}

}  // namespace smartmig
