#include "research/papers/memory_curves.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "base/math.h"
#include "base/rng.h"
#include "base/text.h"

namespace smartmig {
namespace {

using Points = std::vector<double>;

double decay(double x) { return deterministic_exp(-x); }
double power(double x, double p) { return x <= 0 ? 0 : deterministic_exp(p * deterministic_log(x)); }

// Fills with f(u), where u is the share of the run in (0, 1].
Points fill(const std::function<double(double)>& f) {
  Points y(kFinePoints);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = f(double(i + 1) / double(kFinePoints));
  return y;
}
double clamp01(double x) { return std::clamp(x, 0.0, 1.0); }

void add_noise(Points& y, Rng& rng, double deviation) {
  for (double& v : y) v += deviation * rng.normal();
}

Points plateau(Rng& rng) {
  const double load = rng.uniform(0.001, 0.01);
  Points y = fill([&](double u) { return clamp01(u / load); });
  add_noise(y, rng, rng.uniform(0, 0.004));
  return y;
}

Points warm_up(Rng& rng) {
  const double ramp = rng.uniform(0.01, 0.12), first = rng.uniform(0.1, 0.6);
  const bool straight = rng.below(2) == 0;
  Points y =
      fill([&](double u) { return first + (1 - first) * (straight ? clamp01(u / ramp) : 1 - decay(3 * u / ramp)); });
  add_noise(y, rng, rng.uniform(0, 0.004));
  return y;
}

Points linear(Rng& rng) {
  const double first = rng.uniform(0.05, 0.7);
  Points y = fill([&](double u) { return first + (1 - first) * u; });
  add_noise(y, rng, rng.uniform(0, 0.01));
  return y;
}

Points leak(Rng& rng) {
  const double load = rng.uniform(0.003, 0.03), first = rng.uniform(0.6, 0.92);
  Points y = fill([&](double u) { return clamp01(u / load) * (first + (1 - first) * u); });
  add_noise(y, rng, rng.uniform(0, 0.006));
  return y;
}

Points cache_with_resets(Rng& rng) {
  const double base = rng.uniform(0.2, 0.8), period = rng.uniform(0.02, 0.25), vary = rng.uniform(0, 0.2);
  double begin = 0, length = 0, top = 1;
  Points y = fill([&](double u) {
    if (u >= begin + length) {
      begin += length;
      top = 1 - vary * rng.uniform();
      length = period * top;
    }
    return base + (1 - base) * (u - begin) / period;
  });
  add_noise(y, rng, rng.uniform(0, 0.004));
  return y;
}

Points cache_saturating(Rng& rng) {
  const double base = rng.uniform(0.2, 0.7), tau = rng.uniform(0.08, 0.5);
  Points y = fill([&](double u) { return base + (1 - base) * (1 - decay(u / tau)); });
  add_noise(y, rng, rng.uniform(0, 0.006));
  return y;
}

Points staircase(Rng& rng) {
  const int steps = 3 + int(rng.below(18));
  const double base = rng.uniform(0.2, 0.7);
  std::vector<double> when;
  for (int i = 0; i < steps; ++i) when.push_back((double(i) + rng.uniform()) / double(steps));
  Points y = fill([&](double u) {
    return base + (1 - base) * double(std::upper_bound(when.begin(), when.end(), u) - when.begin()) / double(steps);
  });
  add_noise(y, rng, rng.uniform(0, 0.002));
  return y;
}

Points noisy(Rng& rng) {
  Points y = plateau(rng);
  double drift = 0;
  const double deviation = rng.uniform(0.01, 0.05);
  for (double& v : y) {
    drift = 0.8 * drift + 0.6 * deviation * rng.normal();
    v += std::clamp(drift, -3 * deviation, 3 * deviation);
  }
  return y;
}

Points spikes(Rng& rng) {
  Points y = plateau(rng);
  const double height = rng.uniform(0.1, 0.6);
  for (int i = 0, n = 1 + int(rng.below(4)); i < n; ++i) {
    const std::size_t at = 40 + rng.below(kFinePoints - 80);
    for (std::size_t k = at; k < at + 4; ++k) y[k] = 1 + height * rng.uniform(0.8, 1);
  }
  return y;
}

Points logistic(Rng& rng) {
  const double base = rng.uniform(0.2, 0.7), middle = rng.uniform(0.15, 0.6), width = rng.uniform(0.03, 0.15);
  Points y = fill([&](double u) { return base + (1 - base) / (1 + deterministic_exp(-(u - middle) / width)); });
  add_noise(y, rng, rng.uniform(0, 0.005));
  return y;
}

Points late_growth(Rng& rng) {
  const double base = rng.uniform(0.2, 0.7), onset = rng.uniform(0.1, 0.5);
  Points y = fill([&](double u) { return base + (1 - base) * std::max(0.0, u - onset) / (1 - onset); });
  add_noise(y, rng, rng.uniform(0, 0.005));
  return y;
}

Points doubling(Rng& rng) {  // a buffer that doubles when full, filled at a constant rate
  const double base = rng.uniform(0.1, 0.6), first = rng.uniform(0.01, 0.06);
  Points y = fill([&](double u) {
    double capacity = first;
    while (capacity < u) capacity *= 2;
    return base + capacity;
  });
  add_noise(y, rng, rng.uniform(0, 0.003));
  return y;
}

Points power_law(Rng& rng) {
  const double base = rng.uniform(0.1, 0.6), p = rng.below(2) ? rng.uniform(0.3, 0.8) : rng.uniform(1.3, 2.2);
  Points y = fill([&](double u) { return base + (1 - base) * power(u, p); });
  add_noise(y, rng, rng.uniform(0, 0.006));
  return y;
}

Points curriculum(Rng& rng) {  // longer contexts, stage by stage
  const int stages = 3 + int(rng.below(3));
  const double base = rng.uniform(0.2, 0.5);
  std::vector<double> when, level{base};
  for (int i = 1; i < stages; ++i) {
    when.push_back((double(i) + rng.uniform(-0.2, 0.2)) / double(stages));
    level.push_back(base + (1 - base) * power(double(i) / double(stages - 1), rng.uniform(0.8, 1.2)));
  }
  Points y =
      fill([&](double u) { return level[std::size_t(std::upper_bound(when.begin(), when.end(), u) - when.begin())]; });
  add_noise(y, rng, rng.uniform(0, 0.004));
  return y;
}

Points evaluation_bumps(Rng& rng) {  // a validation pass at the end of every epoch
  const double base = rng.uniform(0.4, 0.9), epoch = rng.uniform(0.03, 0.2), share = rng.uniform(0.05, 0.2);
  Points y = fill([&](double u) {
    const double phase = u / epoch - std::floor(u / epoch);
    return phase > 1 - share ? 1.0 : base;
  });
  add_noise(y, rng, rng.uniform(0, 0.006));
  return y;
}

Points wandering(Rng& rng) {  // request batches of a server: a random walk that returns to its mean
  const double mean = rng.uniform(0.4, 0.7), pull = rng.uniform(0.005, 0.05), step = rng.uniform(0.004, 0.02);
  double level = rng.uniform(0.2, 0.5);
  return fill([&](double) {
    level += pull * (mean - level) + step * rng.normal();
    level = std::max(level, 0.1);
    return level;
  });
}

Points load_and_drop(Rng& rng) {  // twice the weights during their conversion, then growth from below
  const double high = rng.uniform(0.6, 1.0), low = high * rng.uniform(0.4, 0.6), until = rng.uniform(0.02, 0.08),
               end = rng.uniform(low, 1.0);
  Points y = fill([&](double u) { return u < until ? high * clamp01(u / (0.7 * until)) : low + (end - low) * u; });
  add_noise(y, rng, rng.uniform(0, 0.004));
  return y;
}

Points two_ramps(Rng& rng) {  // data cached during the first pass, then slower growth or none
  const double base = rng.uniform(0.1, 0.4), knee = rng.uniform(0.1, 0.4), level = rng.uniform(0.6, 1);
  Points y = fill([&](double u) {
    return u < knee ? base + (level - base) * u / knee : level + (1 - level) * (u - knee) / (1 - knee);
  });
  add_noise(y, rng, rng.uniform(0, 0.005));
  return y;
}

struct Maker {
  CurveFamily family;
  Points (*make)(Rng&);
};
constexpr Maker kMakers[] = {
    {{"plateau", "loaded at once, then constant", CurveFamily::kTuning}, plateau},
    {{"warm-up", "fast rise, then flat", CurveFamily::kTuning}, warm_up},
    {{"linear", "steady growth to the end", CurveFamily::kTuning}, linear},
    {{"leak", "large and slowly growing", CurveFamily::kTuning}, leak},
    {{"kv-resets", "a cache that grows and is emptied", CurveFamily::kTuning}, cache_with_resets},
    {{"kv-saturating", "a cache that fills up", CurveFamily::kTuning}, cache_saturating},
    {{"staircase", "allocator steps", CurveFamily::kTuning}, staircase},
    {{"noise", "constant under noise", CurveFamily::kTuning}, noisy},
    {{"spikes", "constant with single spikes", CurveFamily::kTuning}, spikes},
    {{"logistic", "slow, fast, slow", CurveFamily::kHeldOut}, logistic},
    {{"late-growth", "flat, then steady growth", CurveFamily::kHeldOut}, late_growth},
    {{"doubling", "a buffer that doubles when full", CurveFamily::kHeldOut}, doubling},
    {{"power-law", "growth as t^p, p 0.3 to 2.2", CurveFamily::kHeldOut}, power_law},
    {{"curriculum", "stages of longer contexts", CurveFamily::kHeldOut}, curriculum},
    {{"validation", "a bump at the end of every epoch", CurveFamily::kHeldOut}, evaluation_bumps},
    {{"wandering", "a random walk around a mean", CurveFamily::kHeldOut}, wandering},
    {{"load-and-drop", "a peak while loading, then growth from below", CurveFamily::kHeldOut}, load_and_drop},
    {{"two-ramps", "fast growth, then slow", CurveFamily::kHeldOut}, two_ramps},
};

void scale(MemoryCurve& curve, double peak_mib) {
  double most = 0;
  for (double& v : curve.mib) most = std::max(most, v = std::max(v, 0.0));
  if (most > 0)
    for (double& v : curve.mib) v *= peak_mib / most;
}

}  // namespace

std::span<const CurveFamily> curve_families() {
  static const auto all = [] {
    std::vector<CurveFamily> out;
    for (const Maker& maker : kMakers) out.push_back(maker.family);
    return out;
  }();
  return all;
}

MemoryCurve make_curve(std::string_view family, std::uint64_t seed, double duration_s, double peak_mib) {
  for (const Maker& maker : kMakers) {
    if (family != maker.family.name) continue;
    Rng rng(seed, 71);
    MemoryCurve curve{maker.family.name, duration_s, maker.make(rng)};
    scale(curve, peak_mib);
    return curve;
  }
  SMARTMIG_CHECK(false, "no family of memory curves '{}'", family);
}

Result<std::vector<MemoryCurve>> parse_recorded_curves(std::string_view name, std::string_view text) {
  struct Raw {
    std::string job;
    std::vector<double> at, mib;
  };
  std::vector<Raw> raw;
  int line = 0;
  for (std::string_view row : split(text, '\n')) {
    ++line;
    row = trim(row);
    if (row.empty() || row[0] == '#' || row == "job,at_s,mib") continue;
    const auto fields = split(row, ',');
    const auto at = fields.size() == 3 ? parse_double(fields[1]) : std::nullopt;
    const auto mib = fields.size() == 3 ? parse_double(fields[2]) : std::nullopt;
    if (!at || !mib || !(*at >= 0 && *at <= 1e9) || !(*mib >= 0 && *mib <= 1e9) || trim(fields[0]).empty())
      return invalid("{}, line {}: job,seconds,MiB is needed, there is '{}'", name, line, row.substr(0, 80));
    if (raw.empty() || raw.back().job != trim(fields[0])) raw.push_back({std::string(trim(fields[0])), {}, {}});
    Raw& r = raw.back();
    if (!r.at.empty() && *at <= r.at.back())
      return invalid("{}, line {}: {:g} s comes after {:g} s of the same job", name, line, *at, r.at.back());
    r.at.push_back(*at);
    r.mib.push_back(*mib);
  }
  std::vector<MemoryCurve> out;
  for (const Raw& r : raw) {
    if (r.at.size() < 10) return invalid("{}: job {} has {} samples, 10 are needed", name, r.job, r.at.size());
    MemoryCurve curve{r.job, r.at.back(), Points(kFinePoints)};
    std::size_t k = 0;
    for (std::size_t i = 0; i < kFinePoints; ++i) {
      while (k + 1 < r.at.size() && r.at[k + 1] <= curve.at(i)) ++k;
      curve.mib[i] = r.mib[k];
    }
    out.push_back(std::move(curve));
  }
  return out;
}

MemoryCurve stretched(const MemoryCurve& recorded, double duration_s, double peak_mib) {
  MemoryCurve curve = recorded;
  curve.duration_s = duration_s;
  scale(curve, peak_mib);
  return curve;
}

}  // namespace smartmig
