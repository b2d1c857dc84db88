#include "memory/memory_projection.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"
#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kLeastNoiseMib = 4;
constexpr std::array<double, 3> kWindows = {1, 0.5, 0.25};                  // share of the time so far
constexpr std::array<double, 3> kCuts = {0.5, 0.75, 0.875};                 // when a shape must predict the present
constexpr std::array<double, 6> kTaus = {1.5, 0.9, 0.55, 0.33, 0.2, 0.12};  // as shares of a window
constexpr std::array<double, 5> kSurvival = {.9, .7, .5, .3, .1};
constexpr std::array<double, 5> kEndFactor = {.64, .83, 1, 1.20, 1.57};  // e^(0.35 z) at the same quantiles
constexpr std::array<double, 5> kLateFactor = {1.02, 1.06, 1.12, 1.2, 1.4};
constexpr double kShare = 1.0 / double(kSurvival.size());

double normal_tail(double z) {  // P(N > z), logistic approximation, within 0.01
  return 1 / (1 + deterministic_exp(1.702 * std::clamp(z, -30.0, 30.0)));
}

}  // namespace

double MemoryForecast::Curve::basis(double t) const {
  switch (kind) {
    case kFlat:
      return 0;
    case kLine:
      return t;
    case kRoot:
      return std::sqrt(std::max(0.0, t - begin));
    case kSaturating:
      return -deterministic_exp(-std::max(0.0, t - begin) / tau);
  }
  return 0;
}

double MemoryForecast::gain(const Curve& curve, double horizon_s) const {
  return curve.slope * (curve.basis(now_s_ + horizon_s) - curve.basis(now_s_));
}

double MemoryForecast::seconds_to(const Curve& curve, double limit_mib, double horizon_s) const {
  const double missing = limit_mib - level_;
  if (missing <= 0) return 0;
  if (gain(curve, horizon_s) < missing) return horizon_s;  // only its deviation reaches the limit, so assume the end
  if (curve.kind == Curve::kLine) return missing / curve.slope;
  double low = 0, high = horizon_s;
  const double basis_now = curve.basis(now_s_);
  for (int i = 0; i < 24; ++i) {
    const double middle = (low + high) / 2;
    (curve.slope * (curve.basis(now_s_ + middle) - basis_now) < missing ? low : high) = middle;
  }
  return high;
}

double MemoryForecast::quantile(double q) const {
  SMARTMIG_CHECK(q > 0 && q < 1, "quantile {}", q);
  double low = seen_, high = seen_;
  for (const Outcome& o : outcomes_) high = std::max(high, o.mib + 6 * o.deviation);
  if (probability_above(low) <= 1 - q) return low;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (probability_above(middle) > 1 - q ? low : high) = middle;
  }
  return high;
}

double MemoryForecast::probability_above(const Outcome& o, double limit_mib) {
  const double p = o.weight * normal_tail((limit_mib - o.mib) / o.deviation);
  return p < 1e-9 ? 0 : p;
}

double MemoryForecast::probability_above(double limit_mib) const {
  if (seen_ > limit_mib) return 1;
  double probability = 0;
  for (const Outcome& o : outcomes_) probability += probability_above(o, limit_mib);
  return probability;
}

Passing MemoryForecast::passing(double limit_mib) const {
  Passing result;
  if (seen_ > limit_mib) return {1, 0};
  for (const Outcome& o : outcomes_) {
    const double p = probability_above(o, limit_mib);
    if (p == 0) continue;
    result.probability += p;
    result.after_s += p * seconds_to(curves_[std::size_t(o.curve)], limit_mib, o.horizon_s);
  }
  if (result.probability > 0) result.after_s /= result.probability;
  return result;
}

RestartVerdict MemoryForecast::weigh(double limit_mib, const RestartCosts& costs) const {
  RestartVerdict verdict;
  verdict.passing = passing(limit_mib);
  verdict.cost_now_s = costs.restart_s + costs.lost_if_restarted;
  const double wait = std::min(verdict.passing.after_s, MemoryProjection::kPatience * now_s_);
  verdict.cost_go_on_s = verdict.passing.probability * (costs.restart_s + costs.lost_if_failed + wait);
  verdict.restart = verdict.passing.probability >= MemoryProjection::kSure && verdict.cost_now_s < verdict.cost_go_on_s;
  verdict.needs_mib = verdict.restart ? quantile(0.9) : 0;
  return verdict;
}

void MemoryProjection::put(double at_s, double mib) {
  const auto interval = [this](double t) { return std::floor(t / width_); };
  if (!bins_.empty() && interval(bins_.back().at_s) == interval(at_s)) {
    bins_.back() = {at_s, std::max(bins_.back().high, mib)};
    return;
  }
  while (bins_.size() >= std::size_t(kBins)) {
    width_ *= 2;
    std::size_t kept = 0;
    for (std::size_t i = 1; i < bins_.size(); ++i) {
      if (interval(bins_[kept].at_s) == interval(bins_[i].at_s))
        bins_[kept] = {bins_[i].at_s, std::max(bins_[kept].high, bins_[i].high)};
      else
        bins_[++kept] = bins_[i];
    }
    bins_.resize(kept + 1);
    if (interval(bins_.back().at_s) == interval(at_s)) {
      bins_.back() = {at_s, std::max(bins_.back().high, mib)};
      return;
    }
  }
  bins_.push_back({at_s, mib});
}

void MemoryProjection::add(double at_s, double mib) {
  if (!std::isfinite(at_s) || !std::isfinite(mib) || mib < 0 || at_s < 0 || at_s <= last_at_) return;
  if (samples_ == 1) put(recent_at_[1], std::min(recent_[1], mib));
  if (samples_ >= 2) {
    const double a = recent_[0], b = recent_[1];
    put(recent_at_[1], std::max(std::min(a, b), std::min(std::max(a, b), mib)));
  }
  recent_ = {recent_[1], mib};
  recent_at_ = {recent_at_[1], at_s};
  last_at_ = at_s;
  seen_ = std::max(seen_, mib);
  ++samples_;
}

double MemoryProjection::noise() const {
  std::array<double, kBins> bends;
  std::size_t n = 0;
  for (std::size_t i = 2; i < bins_.size(); ++i)
    bends[n++] = std::abs(bins_[i].high - 2 * bins_[i - 1].high + bins_[i - 2].high);
  if (n == 0) return kLeastNoiseMib;
  std::nth_element(bends.begin(), bends.begin() + n / 2, bends.begin() + n);
  // Median of |second difference| of white noise is 0.6745 sqrt(6) sigma.
  return std::max({kLeastNoiseMib, bends[n / 2] / 1.652, 0.001 * seen_});
}

MemoryForecast MemoryProjection::forecast(double expected_total_s) const {
  using Curve = MemoryForecast::Curve;
  MemoryForecast f;
  f.now_s_ = last_at_;
  f.seen_ = f.level_ = seen_;
  if (samples_ < kFewest || bins_.size() < 4) {
    f.curves_.push_back({});
    f.outcomes_.push_back({seen_, std::max(kLeastNoiseMib, 0.001 * seen_), 1, 0, 0});
    return f;
  }
  // E at every bin, up to now.
  std::array<double, kBins> at, envelope;
  const std::size_t n = bins_.size();
  for (std::size_t i = 0; i < n; ++i) {
    at[i] = bins_[i].at_s;
    envelope[i] = std::max(bins_[i].high, i ? envelope[i - 1] : 0);
  }
  const double now = at[n - 1], begin = at[0], span = now - begin, level = envelope[n - 1];
  const double sigma = noise();
  f.now_s_ = now;
  f.level_ = level;

  // The curve of this shape through the bins of [from, until], anchored at the last of them.
  const auto fit = [&](Curve curve, double window, std::size_t last) {
    const double from = at[last] - window * (at[last] - begin);
    std::size_t first = last;
    while (first > 0 && at[first - 1] >= from) --first;
    curve.begin = at[first];
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    const double x0 = curve.basis(at[last]), y0 = envelope[last];
    for (std::size_t i = first; i <= last; ++i) {
      const double dx = curve.basis(at[i]) - x0, dy = envelope[i] - y0;
      ++count;
      x += dx;
      y += dy;
      xx += dx * dx;
      xy += dx * dy;
    }
    const double spread = xx - x * x / count;
    curve.slope = spread > 0 ? std::max(0.0, (xy - x * y / count) / spread) : 0;
    return curve;
  };
  std::array<std::size_t, kCuts.size()> cut_at;
  for (std::size_t c = 0; c < kCuts.size(); ++c) {
    cut_at[c] = std::size_t(std::upper_bound(at.begin(), at.begin() + n, begin + kCuts[c] * span) - at.begin()) - 1;
    cut_at[c] = std::clamp<std::size_t>(cut_at[c], 1, n - 2);
  }
  double total = 0;
  const auto consider = [&](Curve shape, double window, double prior) {
    double squares = 0;
    for (const std::size_t cut : cut_at) {
      const Curve then = fit(shape, window, cut);
      const double horizon = now - at[cut];
      const double miss = envelope[cut] + then.slope * (then.basis(now) - then.basis(at[cut])) - level;
      squares += miss * miss / (horizon * horizon);
    }
    Curve curve = fit(shape, window, n - 1);
    curve.miss = std::sqrt(squares / double(kCuts.size()) + sigma * sigma / (span * span));
    curve.weight = prior / (curve.miss * curve.miss * curve.miss);
    total += curve.weight;
    f.curves_.push_back(curve);
  };
  consider({Curve::kFlat}, 1, 2);
  for (const double window : kWindows) {
    consider({Curve::kLine}, window, 1);
    consider({Curve::kRoot}, window, 0.5);
    const std::size_t stride = window == 1 ? 1 : 2;  // the whole time so far gets a finer grid
    for (std::size_t i = 0; i < kTaus.size(); i += stride)
      consider({Curve::kSaturating, 0, 0, kTaus[i] * window * span}, window, 0.2 * double(stride));
  }

  std::array<double, 5> left;
  for (std::size_t j = 0; j < left.size(); ++j) {
    const double survive = kSurvival[j];
    left[j] = expected_total_s > 0 ? std::max(expected_total_s * kEndFactor[j], now * kLateFactor[j]) - now
                                   : now / survive - now;
  }
  std::array<double, 5> lasts;  // (1 / S)^(1 / alpha) - 1
  for (std::size_t j = 0; j < lasts.size(); ++j)
    lasts[j] = deterministic_exp(-deterministic_log(kSurvival[j]) / kAlpha) - 1;
  for (std::size_t k = 0; k < f.curves_.size(); ++k) {
    Curve& curve = f.curves_[k];
    curve.weight /= total;
    if (curve.weight < 0.004) continue;
    // How long the present growth has lasted: the rise above the first level, divided by the present speed.
    const double ahead = span / 64, speed = f.gain(curve, ahead) / ahead;
    const double grown = speed > 0 ? std::min(span, (level - envelope[0]) / speed) : span;
    for (std::size_t t = 0; t < left.size(); ++t)
      for (std::size_t x = 0; x < lasts.size(); ++x) {
        const double horizon = std::min(left[t], grown * lasts[x]);
        const double deviation = std::sqrt(sigma * sigma + curve.miss * curve.miss * horizon * horizon);
        f.outcomes_.push_back({std::max(seen_, level + f.gain(curve, horizon)), deviation,
                               curve.weight * kShare * kShare, horizon, int(k)});
      }
  }
  double kept = 0;
  for (const auto& o : f.outcomes_) kept += o.weight;
  for (auto& o : f.outcomes_) o.weight /= kept;
  return f;
}

RestartVerdict MemoryProjection::verdict(double limit_mib, double expected_total_s, const RestartCosts& costs) {
  RestartVerdict verdict = forecast(expected_total_s).weigh(limit_mib, costs);
  in_a_row_ = verdict.restart ? in_a_row_ + 1 : 0;
  verdict.restart = in_a_row_ >= kAgain;
  return verdict;
}

RestartVerdict MemoryProjection::line_verdict(double limit_mib, double expected_total_s) {
  RestartVerdict verdict;
  double count = 0, t = 0, y = 0, tt = 0, ty = 0;
  for (const Bin& bin : bins_) {
    if (bin.at_s < last_at_ / 2) continue;
    const double at = bin.at_s - last_at_;  // small numbers, so that their squares keep their digits
    ++count;
    t += at;
    y += bin.high;
    tt += at * at;
    ty += at * bin.high;
  }
  const double spread = count > 0 ? tt - t * t / count : 0;
  if (samples_ >= kFewest && spread > 0 && expected_total_s > last_at_) {
    const double slope = std::max(0.0, (ty - t * y / count) / spread);
    const double at_end = seen_ + slope * (expected_total_s - last_at_);
    if (at_end > limit_mib) {
      verdict.passing = {1, std::max(0.0, limit_mib - seen_) / slope};
      verdict.needs_mib = at_end;
    }
  }
  in_a_row_ = verdict.needs_mib > 0 ? in_a_row_ + 1 : 0;
  verdict.restart = in_a_row_ >= kAgain;
  return verdict;
}

}  // namespace smartmig
