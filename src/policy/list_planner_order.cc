// Better orders of the list: a job that would be late is planned first, and the new plan is kept where it costs less in
// sum. Each try plans the jobs in front anew, so a decision makes a few of them at most.
#include <algorithm>

#include "policy/list_planner.h"

namespace smartmig {
namespace {

constexpr std::size_t kSearched = 32;  // jobs of the list whose order is looked at
constexpr double kClearlyLess = 1e-9;  // share: sums of equal costs may differ in their last bits
constexpr int kOrders = 8;             // orders tried in one decision
constexpr std::size_t kLooks = 2048;   // jobs that look at GPUs in these tries

}  // namespace

void ListPlanner::take_back_all(const Cluster& cluster) {
  planned_.clear();
  rooms_ = 0;
  for (std::uint32_t g = 0; g < boards_.size(); ++g) {
    if (boards_[g].reserved) rebuild(cluster, g);
    rooms_ += has_room(cluster, g);
  }
}

// Leaves the jobs in front planned in the best order found.
void ListPlanner::improve_order(const Cluster& cluster) {
  const std::size_t count = std::min(order_.size(), kSearched);
  // What those with a deadline cost counts first.
  struct Sum {
    double due = 0, rest = 0;
    bool clearly_less(const Sum& other) const {
      if (due < other.due - kClearlyLess * other.due) return true;
      return due <= other.due + kClearlyLess * other.due && rest < other.rest - kClearlyLess * other.rest;
    }
  };
  const auto has_deadline = [&](JobId job) { return cluster.jobs().job(job).has_deadline(); };
  const auto plan_front = [&] {
    Sum sum;
    for (std::size_t i = 0; i < count; ++i) {
      plan_job(cluster, order_[i]);
      (has_deadline(order_[i].job) ? sum.due : sum.rest) += planned_.back().option.cost;
    }
    return sum;
  };
  // Jobs for which slices are being made stay in front.
  const auto free =
      std::find_if(order_.begin(), order_.end(), [](const Listed& one) { return one.promised == kNoPromise; });
  const auto free_rest = std::find_if(free, order_.end(), [&](const Listed& one) { return !has_deadline(one.job); });
  Sum least = plan_front();
  const int orders = int(std::min<std::size_t>(kOrders, kLooks / std::max<std::size_t>(1, count * boards_.size())));
  int tries = 0;
  bool last_is_best = true;
  std::vector<Booking> best = planned_;
  for (std::size_t i = 1; i < count && tries < orders; ++i) {
    const Option& option = best[i].option;
    types_of(cluster, best[i].job);
    const bool waits = option.valid() && option.begin > cluster.now() && order_[i].promised == kNoPromise;
    if (!waits || lateness(cluster, option.finish) <= 0) continue;
    ++tries;
    const auto front = has_deadline(order_[i].job) ? free : free_rest, late = order_.begin() + std::ptrdiff_t(i);
    std::rotate(front, late, late + 1);
    take_back_all(cluster);
    const Sum sum = plan_front();
    last_is_best = sum.clearly_less(least);
    if (last_is_best) {
      least = sum;
      best = planned_;
    } else {
      std::rotate(front, front + 1, late + 1);
    }
  }
  if (last_is_best) return;
  take_back_all(cluster);
  plan_front();
}

}  // namespace smartmig
