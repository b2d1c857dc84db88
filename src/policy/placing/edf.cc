#include <numeric>

#include "policy/placing/placing_rules.h"
#include "policy/placing/slice_rules.h"

namespace smartmig {
namespace {

// Sorts GPUs from full to empty: by taken compute slices / compute slices of the layout, then by index. Only one GPU
// has changed since the last choice, so the order is nearly right.
void order_by_fullness(const PlacingState& board, std::vector<std::uint32_t>& order) {
  if (order.size() != board.gpus().size()) {
    order.resize(board.gpus().size());
    std::iota(order.begin(), order.end(), 0);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const PlacingState::Gpu &ga = board.gpus()[a], &gb = board.gpus()[b];
    const int fa = ga.taken_slices * std::max(1, gb.total_slices), fb = gb.taken_slices * std::max(1, ga.total_slices);
    return fa != fb ? fa > fb : a < b;
  };
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::uint32_t gpu = order[i];
    std::size_t at = i;
    for (; at > 0 && before(gpu, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = gpu;
  }
}

class MostPacked : public TurnRule {
 public:
  Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) override {
    order_by_fullness(board, order_);
    return first_on_time_else_earliest(cluster, board, job, order_);
  }

 private:
  std::vector<std::uint32_t> order_;
};

class Edf : public MostPacked {
 public:
  std::int64_t turn(const Cluster&, JobId) const override { return 0; }
};

class Fifo : public MostPacked {
 public:
  std::int64_t turn(const Cluster& cluster, JobId job) const override { return cluster.state(job).arrival; }
};

}  // namespace

std::unique_ptr<TurnRule> make_edf_rule() { return std::make_unique<Edf>(); }
std::unique_ptr<TurnRule> make_fifo_rule() { return std::make_unique<Fifo>(); }

}  // namespace smartmig
