// Which slice sizes the GPUs should have, and who gets them: chosen together.
//
// GPUs that may take the same configurations form a group and count as equal. A configuration is a set of slots that
// are all to be used, with what using them costs per minute (energy); leaving a slot unused is a smaller configuration.
// From the counts of the last decision the planner moves GPUs from one configuration to another while that raises
//   (gain of the best assignment of jobs to slots) - (cost of the configurations),
// SlotMarket holding the assignment. Moves are ranked by the worth of single slots, a bound that is nearly exact for
// small moves; the best `tries` are evaluated exactly. In large groups many GPUs move at once: the step halves until it
// pays. So the work depends on configurations, slot types and items, not on the number of GPUs or jobs.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "policy/placing/slot_market.h"

namespace smartmig {

struct SlotConfiguration {
  std::array<std::uint8_t, SlotMarket::kMaxTypes> slots{};  // by market type
  double cost = 0;                                          // per minute, as gains are
};

struct SizeGroup {
  std::vector<SlotConfiguration> configurations;
  std::vector<std::int64_t> gpus;  // in each configuration
};

class SizePlanner {
 public:
  int tries = 15;        // exact evaluations before a move is given up
  int max_moves = 2000;  // of one decision

  // The market holds the items, all waiting, and no slots. Changes the groups' counts.
  void optimise(SlotMarket& market, std::vector<SizeGroup>& groups);
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  struct Move {
    double estimate;
    std::uint32_t group;
    std::uint16_t from, to;
  };
  double shift(SlotMarket& market, const SizeGroup& group, const Move& move, std::int64_t gpus) const;
  void rank(SlotMarket& market, const std::vector<SizeGroup>& groups);

  std::vector<Move> moves_;  // the best of them
  int most_slots_ = 0;       // of one type in a configuration
  std::uint64_t evaluations_ = 0;
};

}  // namespace smartmig
