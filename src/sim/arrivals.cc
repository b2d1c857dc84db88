#include "sim/arrivals.h"

#include <array>

namespace smartmig {
namespace {

// Arrivals per minute by hour of the day in SMART-MIG's simulation (arXiv 2606.29775), at multiplier 1.
constexpr std::array<double, 24> kBaseRate = {.111, .083, .085, .100, .137, .169, .171, .169, .179, .191, .201, .188,
                                              .170, .177, .168, .171, .163, .138, .120, .111, .129, .116, .106, .104};
constexpr std::uint64_t kArrivalStreams = 1, kJobStreams = 2;

}  // namespace

std::vector<Time> arrivals(const WorkloadSpec& spec) {
  const std::uint64_t key = mix64(spec.seed, kArrivalStreams);
  std::vector<Time> out;
  out.reserve(std::size_t(expected_jobs(spec) * 1.05) + 64);
  if (spec.multiplier == 0) {
    Rng rng(key);
    double minute = 0;
    for (std::int64_t i = 0; i < spec.jobs; ++i) out.push_back(from_minutes(minute += rng.exponential(1 / spec.rate)));
    return out;
  }
  for (int day = 0; day < spec.days; ++day)
    for (int hour = spec.first_hour; hour < spec.last_hour; ++hour) {
      const int from_start = day * 24 + hour;
      Rng rng(key, std::uint64_t(from_start) + 1);
      const double gap = 1 / (kBaseRate[std::size_t(hour)] * spec.multiplier);
      for (double minute = rng.exponential(gap); minute < 60; minute += rng.exponential(gap))
        out.push_back(std::chrono::hours(from_start) + from_minutes(minute));
    }
  return out;
}

Rng job_stream(std::uint64_t seed, std::uint64_t job) { return Rng(mix64(seed, kJobStreams), job); }

double expected_jobs(const WorkloadSpec& spec) {
  if (spec.multiplier == 0) return double(spec.jobs);
  double per_minute = 0;
  for (int hour = spec.first_hour; hour < spec.last_hour; ++hour) per_minute += kBaseRate[std::size_t(hour)];
  return per_minute * 60 * spec.multiplier * spec.days;
}

std::string arrivals_in_words(const WorkloadSpec& spec) {
  if (spec.multiplier == 0) return fmt::format("arrivals: Poisson, {} per minute, {} jobs", spec.rate, spec.jobs);
  return fmt::format("arrivals: Poisson at {} times SMART-MIG's hourly rates, {} day{}, hours {} to {}",
                     spec.multiplier, spec.days, spec.days == 1 ? "" : "s", spec.first_hour, spec.last_hour);
}

double days_of(const WorkloadSpec& spec) {
  return spec.multiplier == 0 ? 0 : spec.days * (spec.last_hour - spec.first_hour) / 24.0;
}

}  // namespace smartmig
