#include "policy/planner/size_planner.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace smartmig {
namespace {

constexpr double kWorthIt = 1e-7;  // per minute and GPU; below it is rounding

}  // namespace

// Slots come before others go: a job that changes sides is then weighed once.
double SizePlanner::shift(SlotMarket& market, const SizeGroup& group, const Move& move, std::int64_t gpus) const {
  const SlotConfiguration& from = group.configurations[move.from];
  const SlotConfiguration& to = group.configurations[move.to];
  double total = (from.cost - to.cost) * double(gpus);
  for (int t = market.types() - 1; t >= 0; --t) {
    const int more = int(to.slots[std::size_t(t)]) - int(from.slots[std::size_t(t)]);
    if (more > 0) total += market.add_slots(t, more * gpus);
  }
  for (int t = 0; t < market.types(); ++t) {
    const int less = int(from.slots[std::size_t(t)]) - int(to.slots[std::size_t(t)]);
    if (less > 0) total += market.remove_slots(t, less * gpus);
  }
  return total;
}

void SizePlanner::rank(SlotMarket& market, const std::vector<SizeGroup>& groups) {
  std::array<double, SlotMarket::kMaxTypes> more, less;
  const int types = market.types();
  for (int t = 0; t < types; ++t) {
    more[std::size_t(t)] = market.worth_of_one_more(t);
    less[std::size_t(t)] = market.slots(t) > 0 ? market.cost_of_one_less(t) : 0;
  }
  constexpr int kMostSlots = 32;  // of one type on a GPU
  SMARTMIG_CHECK(most_slots_ <= kMostSlots, "a configuration with {} slots of a type", most_slots_);
  std::array<std::array<double, 2 * kMostSlots + 1>, SlotMarket::kMaxTypes> worth;  // of so many slots more or less
  for (int t = 0; t < types; ++t)
    for (int d = 0; d <= most_slots_; ++d) {
      worth[std::size_t(t)][std::size_t(kMostSlots - d)] = d == 0 ? 0 : d * less[std::size_t(t)];
      worth[std::size_t(t)][std::size_t(kMostSlots + d)] = d == 0 ? 0 : d * more[std::size_t(t)];
    }
  const auto before = [](const Move& x, const Move& y) {
    if (x.estimate != y.estimate) return x.estimate > y.estimate;
    return std::tuple(x.group, x.from, x.to) < std::tuple(y.group, y.from, y.to);
  };
  moves_.clear();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const SizeGroup& group = groups[g];
    for (std::size_t a = 0; a < group.configurations.size(); ++a) {
      if (group.gpus[a] == 0) continue;
      const SlotConfiguration& from = group.configurations[a];
      for (std::size_t b = 0; b < group.configurations.size(); ++b) {
        if (a == b) continue;
        const SlotConfiguration& to = group.configurations[b];
        double estimate = from.cost - to.cost;
        for (std::size_t t = 0; t < std::size_t(types); ++t)
          estimate += worth[t][std::size_t(kMostSlots + int(to.slots[t]) - int(from.slots[t]))];
        // The best `tries`, in order.
        const Move move{estimate, std::uint32_t(g), std::uint16_t(a), std::uint16_t(b)};
        if (moves_.size() >= std::size_t(tries)) {
          if (!before(move, moves_.back())) continue;
          moves_.pop_back();
        }
        std::size_t at = moves_.size();
        moves_.push_back(move);
        for (; at > 0 && before(move, moves_[at - 1]); --at) moves_[at] = moves_[at - 1];
        moves_[at] = move;
      }
    }
  }
}

void SizePlanner::optimise(SlotMarket& market, std::vector<SizeGroup>& groups) {
  std::array<std::int64_t, SlotMarket::kMaxTypes> slots{};
  most_slots_ = 0;
  for (const SizeGroup& group : groups)
    for (std::size_t c = 0; c < group.configurations.size(); ++c)
      for (std::size_t t = 0; t < slots.size(); ++t) {
        slots[t] += group.gpus[c] * group.configurations[c].slots[t];
        most_slots_ = std::max(most_slots_, int(group.configurations[c].slots[t]));
      }
  for (int t = market.types() - 1; t >= 0; --t)
    if (slots[std::size_t(t)] > 0) market.add_slots(t, slots[std::size_t(t)]);

  for (int moved = 0; moved < max_moves; ++moved) {
    rank(market, groups);
    bool better = false;
    for (const Move& move : moves_) {
      SizeGroup& group = groups[move.group];
      // A small fleet moves one GPU at a time; a large one as many as pay.
      for (std::int64_t step = group.gpus[move.from] > 16 ? group.gpus[move.from] : 1; step > 0 && !better; step /= 2) {
        const std::size_t mark = market.mark();
        ++evaluations_;
        if (shift(market, group, move, step) > kWorthIt * double(step)) {
          group.gpus[move.from] -= step;
          group.gpus[move.to] += step;
          better = true;
        } else {
          market.undo(mark);
        }
      }
      if (better) break;
    }
    if (!better) break;
  }
  market.forget_log();
}

}  // namespace smartmig
