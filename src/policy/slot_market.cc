#include "policy/slot_market.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace smartmig {
namespace {

constexpr double kNoEdge = -1e29;  // below this nothing is reachable
constexpr double kTie = 1e-9;      // improvements below this are rounding

}  // namespace

void SlotMarket::reset(int types) {
  SMARTMIG_CHECK(types > 0 && types <= kMaxTypes, "a market of {} slot types; at most {}", types, kMaxTypes);
  types_ = types;
  items_ = 0;
  gain_.clear();
  held_.clear();
  empty_.fill(0);
  slots_.fill(0);
  log_.clear();
  best_.fill(kImpossible);
  mover_.fill(kNobody);
  for (int t = 0; t < types_; ++t) {  // an empty slot is always possible
    best(types_, t) = 0;
    mover(types_, t) = kEmpty;
  }
}

int SlotMarket::add_item(std::span<const double> gain, std::int64_t count) {
  SMARTMIG_CHECK(int(gain.size()) == types_, "{} gains for {} slot types", gain.size(), types_);
  gain_.insert(gain_.end(), gain.begin(), gain.end());
  gain_.push_back(0);
  held_.insert(held_.end(), std::size_t(types_), 0);
  held_.push_back(count);
  for (int t = 0; t < types_; ++t)
    if (gain[std::size_t(t)] > best(types_, t)) {
      best(types_, t) = gain[std::size_t(t)];
      mover(types_, t) = std::int32_t(items_);
    }
  return int(items_++);
}

void SlotMarket::refresh(int from) {
  double* const out = &best(from, 0);
  std::int32_t* const who = &mover(from, 0);
  const bool has_empty = from == types_ || empty_[std::size_t(from)] > 0;
  for (int t = 0; t <= types_; ++t) {
    out[t] = has_empty ? 0 : kImpossible;
    who[t] = has_empty ? kEmpty : kNobody;
  }
  out[from] = kImpossible;
  if (from == types_) out[types_] = kImpossible;
  const std::size_t width = stride();
  for (std::size_t i = 0; i < items_; ++i) {
    if (held_[i * width + std::size_t(from)] == 0) continue;
    const double* const row = &gain_[i * width];
    const double here = row[from];
    for (int t = 0; t <= types_; ++t) {
      const double x = row[t] - here;
      if (x > out[t] && t != from) {
        out[t] = x;
        who[t] = std::int32_t(i);
      }
    }
  }
}

double SlotMarket::path(int from, int to) {
  std::array<double, kMaxTypes + 1> far;
  std::array<int, kMaxTypes + 1> before;
  const int nodes = types_ + 1;
  for (int n = 0; n < nodes; ++n) {
    far[std::size_t(n)] = kImpossible;
    before[std::size_t(n)] = -1;
  }
  far[std::size_t(from)] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int a = 0; a < nodes; ++a) {
      if (a == to || far[std::size_t(a)] < kNoEdge) continue;
      for (int b = 0; b < nodes; ++b) {
        if (b == a || b == from || best(a, b) < kNoEdge) continue;
        const double x = far[std::size_t(a)] + best(a, b);
        if (x <= far[std::size_t(b)] + kTie) continue;
        bool on_route = false;  // rounding must not close a circle
        for (int n = a; n >= 0 && !on_route; n = before[std::size_t(n)]) on_route = n == b;
        if (on_route) continue;
        far[std::size_t(b)] = x;
        before[std::size_t(b)] = a;
        changed = true;
      }
    }
  }
  route_length_ = 0;
  if (far[std::size_t(to)] < kNoEdge) return -std::numeric_limits<double>::infinity();
  double total = 0;
  for (int n = to; n != from; n = before[std::size_t(n)]) {
    route_[std::size_t(route_length_++)] = n;
    total += best(before[std::size_t(n)], n);
  }
  route_[std::size_t(route_length_++)] = from;
  std::reverse(route_.begin(), route_.begin() + route_length_);
  return total;
}

void SlotMarket::carry(std::int32_t item, int from, int to, std::int64_t count) {
  slots_[std::size_t(from)] -= count;  // every slot holds an item or nothing, and either is carried
  slots_[std::size_t(to)] += count;
  if (item == kEmpty) {
    if (from != types_) empty_[std::size_t(from)] -= count;
    if (to != types_) empty_[std::size_t(to)] += count;
  } else {
    held_[std::size_t(item) * stride() + std::size_t(from)] -= count;
    held_[std::size_t(item) * stride() + std::size_t(to)] += count;
  }
}

std::int64_t SlotMarket::push(std::int64_t count) {
  for (int i = 0; i + 1 < route_length_; ++i) {
    const int a = route_[std::size_t(i)], b = route_[std::size_t(i) + 1];
    const std::int32_t item = mover(a, b);
    if (item == kEmpty)
      count = a == types_ ? count : std::min(count, empty_[std::size_t(a)]);
    else
      count = std::min(count, held_[std::size_t(item) * stride() + std::size_t(a)]);
  }
  for (int i = 0; i + 1 < route_length_; ++i) {
    const int a = route_[std::size_t(i)], b = route_[std::size_t(i) + 1];
    carry(mover(a, b), a, b, count);
    log_.push_back({mover(a, b), std::int16_t(a), std::int16_t(b), count});
  }
  for (int i = 0; i < route_length_; ++i) refresh(route_[std::size_t(i)]);
  return count;
}

double SlotMarket::add_slots(int type, std::int64_t count) {
  double total = 0;
  while (count > 0) {
    const double each = path(types_, type);
    const std::int64_t moved = push(count);
    total += each * double(moved);
    count -= moved;
  }
  return total;
}

double SlotMarket::remove_slots(int type, std::int64_t count) {
  SMARTMIG_CHECK(count <= slots_[std::size_t(type)], "{} slots to remove where {} are", count,
                 slots_[std::size_t(type)]);
  double total = 0;
  while (count > 0) {
    const double each = path(type, types_);
    const std::int64_t moved = push(count);
    total += each * double(moved);
    count -= moved;
  }
  return total;
}

void SlotMarket::undo(std::size_t mark) {
  std::uint32_t touched = 0;
  while (log_.size() > mark) {
    const Step step = log_.back();
    log_.pop_back();
    carry(step.item, step.to, step.from, step.count);
    touched |= 1u << step.from | 1u << step.to;
  }
  for (int t = 0; t <= types_; ++t)
    if (touched >> t & 1) refresh(t);
}

}  // namespace smartmig
