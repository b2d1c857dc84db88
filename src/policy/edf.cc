#include <numeric>

#include "policy/placing_rules.h"
#include "policy/slice_rules.h"

namespace smartmig {
namespace {

// GPUs from the fullest to the emptiest: occupied fraction = taken compute slices / compute slices of the layout.
void order_by_fullness(const Board& board, std::vector<std::uint32_t>& order) {
  order.resize(board.gpus().size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Board::Gpu &ga = board.gpus()[a], &gb = board.gpus()[b];
    return ga.taken_slices * std::max(1, gb.total_slices) > gb.taken_slices * std::max(1, ga.total_slices);
  });
}

class MostPacked : public PlacingRule {
 public:
  Slot choose(const Cluster& cluster, const Board& board, JobId job) override {
    order_by_fullness(board, order_);
    return first_on_time_else_earliest(cluster, board, job, order_);
  }

 private:
  std::vector<std::uint32_t> order_;
};

class Edf : public MostPacked {
 public:
  void order(const Cluster& cluster, std::vector<JobId>& jobs) override { order_by_deadline(cluster, jobs); }
};

class Fifo : public MostPacked {
 public:
  void order(const Cluster&, std::vector<JobId>&) override {}  // candidates come in order of arrival
};

}  // namespace

std::unique_ptr<PlacingRule> make_edf_rule() { return std::make_unique<Edf>(); }
std::unique_ptr<PlacingRule> make_fifo_rule() { return std::make_unique<Fifo>(); }

}  // namespace smartmig
