// Assigns slice sizes: jobs compete for slots of a few types, exactly and incrementally.
//
// An item is one job or a class of equal jobs (a count). gain(item, type) is what one of them is worth per minute on a
// slot of that type, 0 while waiting. The market holds an assignment of greatest total gain for the existing slots.
// There are few types (the slice types of a fleet and one node for waiting), so the exchange graph between types is
// tiny: an edge A -> B carries the best item that could move from A to B. One more slot of a type is the best path from
// waiting to that type, one slot less the best path back. The assignment stays optimal because each step takes a
// longest path in a graph without positive cycles (successive shortest paths of a transport problem). Counts move in
// bulk, so the work depends on the number of items and types, not on the number of jobs or slots they represent.
//
// A slot may stay empty (gain 0). Not thread-safe; reused for every decision without allocation.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace smartmig {

class SlotMarket {
 public:
  static constexpr int kMaxTypes = 24;
  static constexpr double kImpossible = -1e30;  // the gain of a type that the item cannot run on

  void reset(int types);
  int add_item(std::span<const double> gain, std::int64_t count);  // waiting; REQUIRES: no slots yet

  double add_slots(int type, std::int64_t count);     // returns the additional gain
  double remove_slots(int type, std::int64_t count);  // returns minus the lost gain; REQUIRES: that many slots exist

  // What one more slot of this type would be worth, and minus what one slot less would cost (changes nothing).
  double worth_of_one_more(int type) { return known_path(types_, type, true); }
  double cost_of_one_less(int type) { return known_path(type, types_, true); }

  std::size_t mark();
  void undo(std::size_t mark);
  void forget_log() {
    log_.clear();
    mark_ = kNoMark;
  }

  int types() const { return types_; }
  std::size_t items() const { return items_; }
  std::int64_t assigned(std::size_t item, int type) const { return held_[item * stride() + std::size_t(type)]; }
  std::int64_t slots(int type) const { return slots_[std::size_t(type)]; }
  double gain(std::size_t item, int type) const { return gain_[item * stride() + std::size_t(type)]; }

 private:
  static constexpr std::int32_t kEmpty = -1, kNobody = -2;
  struct Step {
    std::int32_t item;
    std::int16_t from, to;
    std::int64_t count;
  };
  std::size_t stride() const { return std::size_t(types_) + 1; }
  double& best(int from, int to) { return best_[std::size_t(from) * (kMaxTypes + 1) + std::size_t(to)]; }
  std::int32_t& mover(int from, int to) { return mover_[std::size_t(from) * (kMaxTypes + 1) + std::size_t(to)]; }
  void refresh(int from);  // edges out of one type
  void refresh_waiting();  // the same for the waiting node, which has most items: only for what has changed
  std::uint64_t* holders(int node) { return holders_.data() + std::size_t(node) * words_; }
  template <class Visit>
  void for_each_holder(int node, Visit visit) {  // by index
    const std::uint64_t* const bits = holders(node);
    for (std::size_t w = 0; w < (items_ + 63) / 64; ++w)
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
        visit(w * 64 + std::size_t(std::countr_zero(rest)));
  }
  double path(int from, int to);                       // the longest; fills route_; -infinity if there is none
  double known_path(int from, int to, bool remember);  // the same from or to waiting, computed once per state
  std::int64_t push(std::int64_t count);               // moves up to `count` along route_
  void carry(std::int32_t item, int from, int to, std::int64_t count);

  int types_ = 0;  // also the index of the waiting node
  std::size_t items_ = 0;
  std::vector<double> gain_;        // [item][type], waiting last
  std::vector<std::int64_t> held_;  // [item][type], waiting last
  std::size_t words_ = 0;
  std::vector<std::uint64_t> holders_;     // [node][word]: a bit for each item that is there, in full or in part
  std::vector<std::int32_t> came_, left_;  // at the waiting node, since its edges were computed
  std::array<std::int64_t, kMaxTypes + 1> empty_{}, slots_{};
  std::array<double, (kMaxTypes + 1) * (kMaxTypes + 1)> best_;
  std::array<std::int32_t, (kMaxTypes + 1) * (kMaxTypes + 1)> mover_;
  struct Route {
    std::array<int, kMaxTypes + 2> nodes;
    int length = 0;
  };
  Route route_;

  // Every state of the market has a number; undo() returns to a known one. Values computed from a state alone are then
  // reused: edges from the last mark, paths from the last state for which they were requested.
  std::uint64_t state_ = 0, last_state_ = 0;
  std::uint64_t marked_ = UINT64_MAX, asked_ = UINT64_MAX;
  static constexpr std::size_t kNoMark = SIZE_MAX;
  std::size_t mark_ = kNoMark;  // the last mark, as long as nothing before it was undone
  decltype(best_) marked_best_;
  decltype(mover_) marked_mover_;
  struct Known {
    bool found = false;
    double total = 0;
    Route route;
  };
  std::array<Known, 2 * kMaxTypes> paths_;  // of state asked_: from waiting to each type, then back
  std::vector<Step> log_;
};

}  // namespace smartmig
