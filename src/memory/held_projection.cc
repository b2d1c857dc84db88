#include "memory/held_projection.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kHeldRise = 0.003, kHeldRiseMib = 1;      // the least change that counts as a rise
constexpr double kGoesOnByRises = 1.5, kRisesPower = 1.2;  // odds that growth goes on: first * n^second
constexpr double kInTime = 1.3, kOverdue = 1.5,
                 kLasting = 0.1;  // distances until the next is late; by how much that tells
constexpr double kLeastMiss = 0.03, kMissOfFew = 0.3, kMissedAnyway = 0.05;  // of the slope
constexpr double kPassGoesOn = 0.9, kPassBegan = 0.5, kPassWithin = 0.2;
enum HeldAxis { kWork, kLog, kSquare };

double power_of(double x, double by) { return x > 0 ? deterministic_exp(by * deterministic_log(x)) : 0; }

// The probability that growth of about `growth`, wrong by a factor of 1 + wrong, exceeds what is left.
double growth_passes(double growth, double wrong, double left, double edge) {
  if (growth <= 0) return 0;
  const double least = std::max(left, edge), wide = deterministic_log(1 + wrong) + edge / (least + edge);
  const double z = deterministic_log(least / growth) / wide;
  return 1 / (1 + deterministic_exp(1.702 * std::clamp(z, -30.0, 30.0)));
}

double along(int axis, double work) {
  if (axis == kLog) return deterministic_log(std::max(1e-9, work));
  return axis == kSquare ? work * work : work;
}

double slope_through(const std::vector<HeldProjection::Rise>& rises, int axis, std::size_t from, std::size_t to) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = from; i <= to; ++i) {
    const double x = along(axis, rises[i].work), y = rises[i].held;
    ++n;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = sxx - sx * sx / n;
  return spread > 1e-12 * sxx ? std::max(0.0, (sxy - sx * sy / n) / spread) : 0;
}

}  // namespace

void HeldForecast::add(double weight, const HeldForecast& other) {
  probability += weight * other.probability;
  after += weight * other.probability * other.after;
  needs_mib += weight * other.probability * other.needs_mib;
}

void HeldForecast::divide(double weights) {
  after /= std::max(1e-12, probability);
  needs_mib /= std::max(1e-12, probability);
  probability /= std::max(1e-12, weights);
}

double HeldRoom::passed_by(double held_mib, double off_mib) const {
  const double z = (mib - held_mib) / (edge_mib + off_mib);
  return 1 / (1 + deterministic_exp(1.702 * std::clamp(z, -30.0, 30.0)));
}

void HeldProjection::add(double work, double held_mib) {
  if (rises_.empty()) {
    rises_.push_back({work, held_mib});
    work_ = work;
    return;
  }
  if (work < work_ || held_mib < rises_.back().held) return;
  work_ = work;
  if (held_mib <= (1 + kHeldRise) * rises_.back().held + kHeldRiseMib) return;
  if (rises_.back().work == work) {
    rises_.back().held = held_mib;
    return;
  }
  rises_.push_back({work, held_mib});
  if (rises_.size() < 2 * kMost) return;
  for (std::size_t i = 0; i < kMost; ++i) rises_[i] = rises_[2 * i + 1];
  rises_.resize(kMost);
}

std::vector<HeldProjection::Way> HeldProjection::ways() const {
  if (rises_.size() < 2) return {};
  std::vector<Way> out = {{kWork, false, 1}, {kWork, true, 1}, {kLog, false, 0.3}, {kSquare, false, 0.4}};
  const std::size_t n = rises_.size() - 1, first = std::max<std::size_t>(1, n / 2), step = (n - first) / kTried + 1;
  for (Way& way : out) {
    const auto from = [&](std::size_t j) { return way.late ? j / 2 : 0; };
    const auto slope_as_of = [&](std::size_t j) { return slope_through(rises_, way.axis, from(j), j); };
    way.slope = slope_as_of(n);
    double squares = 0, distances = 0, tried = 0;
    for (std::size_t j = first; j < n; j += step) {
      const double x = along(way.axis, rises_[n].work) - along(way.axis, rises_[j].work);
      const double off = rises_[j].held + slope_as_of(j) * x - held_mib();
      squares += off * off;
      distances += x * x;
      ++tried;
    }
    const double grown = std::max(kHeldRiseMib, held_mib() - rises_[first > 1 ? first : 0].held);
    way.missed = std::sqrt(squares / std::max(1.0, tried)) / grown;
    way.miss = std::sqrt(squares / std::max(1e-12, distances)) + (kLeastMiss + (n < 3 ? kMissOfFew : 0)) * way.slope;
    double gaps = 0, gap_squares = 0;
    for (std::size_t i = from(n) + 1; i <= n; ++i) {
      const double gap = along(way.axis, rises_[i].work) - along(way.axis, rises_[i - 1].work);
      gaps += gap;
      gap_squares += gap * gap;
    }
    way.gap = gaps > 0 ? gap_squares / gaps : 1;
    way.told = gap_squares > 0 ? gaps * gaps / gap_squares : 0;
    way.begin = along(way.axis, rises_[from(n)].work);
  }
  return out;
}

HeldForecast HeldProjection::forecast(const std::vector<Way>& ways, const HeldRoom& room, double end) const {
  HeldForecast out;
  if (rises_.empty()) return out;
  const double held = held_mib(), flat = room.passed_by(held, 0);
  if (ways.empty() || end <= work_) return {flat, 0, held};
  const double last_work = rises_.back().work;
  double sum = 0;
  for (const Way& way : ways) {
    const double last = along(way.axis, last_work), to_end = along(way.axis, end) - last;
    const double more = way.axis == kLog ? to_end : std::floor(to_end / way.gap + 1e-6) * way.gap,
                 there = held + way.slope * more;
    const double growth = way.slope * more, off = way.miss * more;
    const double p = growth_passes(growth, way.slope > 0 ? way.miss / way.slope : 0, room.mib - held, room.edge_mib);
    const double needed = way.slope > 0 ? std::max(0.0, room.mib - held) / way.slope : more;
    const double since = (along(way.axis, work_) - last) / way.gap;
    const double stop = 1 / (1 + kGoesOnByRises * power_of(way.told, kRisesPower));
    const double unlikely = deterministic_exp(-kOverdue * std::max(0.0, since - kInTime));
    const double lasts = power_of((last - way.begin) / (last - way.begin + std::min(needed, more)), kLasting);
    const double going = lasts * (1 - stop) * unlikely / ((1 - stop) * unlikely + stop);
    const double weight = way.prior / power_of(way.missed + kMissedAnyway, 2);
    const double share = std::clamp(needed / std::max(1e-9, to_end), 0.0, 1.0);
    out.add(weight, {going * std::max(p, flat) + (1 - going) * flat,
                     std::max(0.0, share * (end - last_work) - (work_ - last_work)), there + off});
    sum += weight;
  }
  out.divide(sum);
  return out;
}

HeldForecast HeldProjection::within_pass(const HeldRoom& room, double end) const {
  const std::size_t n = rises_.size();
  if (n < 2) return {n ? room.passed_by(held_mib(), 0) : 0, 0, held_mib()};
  const Rise &last = rises_[n - 1], &before = rises_[n - 2];
  const double growth = (last.held - before.held) / (last.work - before.work) * std::max(0.0, end - work_);
  const double sure = n > 2 ? kPassGoesOn : kPassBegan;
  return {sure * room.passed_by(held_mib() + growth, kPassWithin * growth) + (1 - sure) * room.passed_by(held_mib(), 0),
          0, held_mib() + growth};
}

}  // namespace smartmig
