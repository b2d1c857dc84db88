#include "policy/placing/slot_market.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace smartmig {
namespace {

constexpr double kNoEdge = -1e29;  // lower values mean unreachable
constexpr double kTie = 1e-9;      // smaller improvements are rounding

}  // namespace

void SlotMarket::reset(int types) {
  SMARTMIG_CHECK(types > 0 && types <= kMaxTypes, "a market of {} slot types; at most {}", types, kMaxTypes);
  types_ = types;
  items_ = 0;
  gain_.clear();
  held_.clear();
  std::fill(holders_.begin(), holders_.end(), 0);
  came_.clear();
  left_.clear();
  state_ = ++last_state_;
  mark_ = kNoMark;
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
  if (items_ / 64 >= words_) {  // without slots, all items are at the waiting node
    words_ = std::max<std::size_t>(4, 2 * words_);
    holders_.assign((kMaxTypes + 1) * words_, 0);
    for (std::size_t i = 0; i < items_; ++i)
      holders(types_)[i / 64] |= std::uint64_t(held_[i * stride() + std::size_t(types_)] > 0) << (i % 64);
  }
  holders(types_)[items_ / 64] |= std::uint64_t(count > 0) << (items_ % 64);
  for (int t = 0; t < types_; ++t)
    if (gain[std::size_t(t)] > best(types_, t)) {
      best(types_, t) = gain[std::size_t(t)];
      mover(types_, t) = std::int32_t(items_);
    }
  return int(items_++);
}

void SlotMarket::refresh_waiting() {
  double* const out = &best(types_, 0);
  std::int32_t* const who = &mover(types_, 0);
  const std::size_t width = stride();
  const auto offer = [&](std::size_t i, int t) {
    const double x = gain_[i * width + std::size_t(t)];
    if (x > out[t] || (x == out[t] && who[t] != kEmpty && std::int32_t(i) < who[t])) {
      out[t] = x;
      who[t] = std::int32_t(i);
    }
  };
  std::uint32_t anew = 0;  // types whose best item has left
  for (const std::int32_t i : left_)
    if (!(holders(types_)[std::size_t(i) / 64] >> (i % 64) & 1))
      for (int t = 0; t < types_; ++t) anew |= std::uint32_t(who[t] == i) << t;
  for (int t = 0; t < types_; ++t)
    if (anew >> t & 1) {
      out[t] = 0;
      who[t] = kEmpty;
    }
  if (anew != 0)
    for_each_holder(types_, [&](std::size_t i) {
      for (std::uint32_t rest = anew; rest != 0; rest &= rest - 1) offer(i, std::countr_zero(rest));
    });
  for (const std::int32_t i : came_)
    if (holders(types_)[std::size_t(i) / 64] >> (i % 64) & 1)
      for (int t = 0; t < types_; ++t) offer(std::size_t(i), t);
  came_.clear();
  left_.clear();
}

void SlotMarket::refresh(int from) {
  if (from == types_) return refresh_waiting();
  double* const out = &best(from, 0);
  std::int32_t* const who = &mover(from, 0);
  const bool has_empty = empty_[std::size_t(from)] > 0;
  for (int t = 0; t <= types_; ++t) {
    out[t] = has_empty ? 0 : kImpossible;
    who[t] = has_empty ? kEmpty : kNobody;
  }
  const std::size_t width = stride();
  for_each_holder(from, [&](std::size_t i) {
    const double* const row = &gain_[i * width];
    const double here = row[from];
    for (int t = 0; t <= types_; ++t) {
      const double x = row[t] - here;
      if (x > out[t]) {
        out[t] = x;
        who[t] = std::int32_t(i);
      }
    }
  });
  out[from] = kImpossible;
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
  std::uint32_t open = 1u << from;  // nodes whose edges may lengthen a path, since their own path became longer
  for (bool changed = true; changed;) {
    changed = false;
    for (int a = 0; a < nodes; ++a) {
      if (a == to || !(open >> a & 1)) continue;
      open &= ~(1u << a);
      const double here = far[std::size_t(a)];
      const double* const edges = &best(a, 0);
      for (int b = 0; b < nodes; ++b) {
        const double x = here + edges[b];
        if (x <= far[std::size_t(b)] + kTie || b == from || edges[b] < kNoEdge) continue;
        bool on_route = false;  // rounding must not close a cycle
        for (int n = a; n >= 0 && !on_route; n = before[std::size_t(n)]) on_route = n == b;
        if (on_route) {
          open |= 1u << a;  // try it again later
          continue;
        }
        open |= 1u << b;
        far[std::size_t(b)] = x;
        before[std::size_t(b)] = a;
        changed = true;
      }
    }
  }
  route_.length = 0;
  if (far[std::size_t(to)] < kNoEdge) return -std::numeric_limits<double>::infinity();
  double total = 0;
  for (int n = to; n != from; n = before[std::size_t(n)]) {
    route_.nodes[std::size_t(route_.length++)] = n;
    total += best(before[std::size_t(n)], n);
  }
  route_.nodes[std::size_t(route_.length++)] = from;
  std::reverse(route_.nodes.begin(), route_.nodes.begin() + route_.length);
  return total;
}

double SlotMarket::known_path(int from, int to, bool remember) {
  if (asked_ != state_) {
    if (!remember) return path(from, to);
    asked_ = state_;
    for (Known& known : paths_) known.found = false;
  }
  Known& known = paths_[std::size_t(from == types_ ? to : types_ + from)];
  if (!known.found) known = {true, path(from, to), route_};
  route_ = known.route;
  return known.total;
}

void SlotMarket::carry(std::int32_t item, int from, int to, std::int64_t count) {
  slots_[std::size_t(from)] -= count;  // every slot holds an item or nothing; both can move
  slots_[std::size_t(to)] += count;
  if (item == kEmpty) {
    if (from != types_) empty_[std::size_t(from)] -= count;
    if (to != types_) empty_[std::size_t(to)] += count;
  } else {
    const std::uint64_t bit = std::uint64_t(1) << (item % 64);
    std::int64_t& here = held_[std::size_t(item) * stride() + std::size_t(from)];
    std::int64_t& there = held_[std::size_t(item) * stride() + std::size_t(to)];
    if (there == 0 && count > 0) {
      holders(to)[item / 64] |= bit;
      if (to == types_) came_.push_back(item);
    }
    there += count;
    here -= count;
    if (here == 0) {
      holders(from)[item / 64] &= ~bit;
      if (from == types_) left_.push_back(item);
    }
  }
}

std::int64_t SlotMarket::push(std::int64_t count) {
  const auto& nodes = route_.nodes;
  for (int i = 0; i + 1 < route_.length; ++i) {
    const int a = nodes[std::size_t(i)], b = nodes[std::size_t(i) + 1];
    const std::int32_t item = mover(a, b);
    if (item == kEmpty)
      count = a == types_ ? count : std::min(count, empty_[std::size_t(a)]);
    else
      count = std::min(count, held_[std::size_t(item) * stride() + std::size_t(a)]);
  }
  for (int i = 0; i + 1 < route_.length; ++i) {
    const int a = nodes[std::size_t(i)], b = nodes[std::size_t(i) + 1];
    carry(mover(a, b), a, b, count);
    log_.push_back({mover(a, b), std::int16_t(a), std::int16_t(b), count});
  }
  for (int i = 0; i < route_.length; ++i) refresh(nodes[std::size_t(i)]);
  state_ = ++last_state_;
  return count;
}

double SlotMarket::add_slots(int type, std::int64_t count) {
  double total = 0;
  while (count > 0) {
    const double each = known_path(types_, type, false);
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
    const double each = known_path(type, types_, false);
    const std::int64_t moved = push(count);
    total += each * double(moved);
    count -= moved;
  }
  return total;
}

std::size_t SlotMarket::mark() {
  if (marked_ != state_) {
    marked_ = state_;
    const std::size_t rows = std::size_t(types_ + 1) * (kMaxTypes + 1);
    std::copy_n(best_.begin(), rows, marked_best_.begin());
    std::copy_n(mover_.begin(), rows, marked_mover_.begin());
  }
  return mark_ = log_.size();
}

void SlotMarket::undo(std::size_t mark) {
  std::uint32_t touched = 0;
  while (log_.size() > mark) {
    const Step step = log_.back();
    log_.pop_back();
    carry(step.item, step.to, step.from, step.count);
    touched |= 1u << step.from | 1u << step.to;
  }
  if (mark != mark_) {  // an older one
    for (int t = 0; t <= types_; ++t)
      if (touched >> t & 1) refresh(t);
    state_ = ++last_state_;
    mark_ = kNoMark;
    return;
  }
  for (int t = 0; t <= types_; ++t) {
    if (!(touched >> t & 1)) continue;
    const std::ptrdiff_t row = t * (kMaxTypes + 1);
    std::copy_n(marked_best_.begin() + row, types_ + 1, best_.begin() + row);
    std::copy_n(marked_mover_.begin() + row, types_ + 1, mover_.begin() + row);
  }
  came_.clear();
  left_.clear();
  state_ = marked_;
}

}  // namespace smartmig
