// Better plans than the first one: other orders of the list, and other sizes of the jobs that begin now. Each try plans
// the jobs in front anew and is kept where they cost less in sum, other orders where they cost clearly less; a decision makes a few of them at most.
#include <algorithm>
#include <utility>
#include <vector>

#include "policy/planner/list_planner.h"

namespace smartmig {
namespace {

constexpr std::size_t kSearched = 32;  // jobs of the list that are looked at
constexpr double kClearlyLess = 1e-9;  // share: sums of equal costs may differ in their last bits
constexpr std::size_t kTries = 8;      // orders tried in one decision, and sizes
constexpr std::size_t kLooks = 2048;   // jobs that look at GPUs in either
constexpr double kOrderGain = 0.03;    // share: a long job that begins earlier delays those who come
constexpr double kNotNow = 1e12;       // minutes: a job that began now must wait for the size it was given

}  // namespace

// What the jobs in front cost; those with a deadline count first.
struct ListPlanner::Sum {
  double due = 0, rest = 0;
  bool clearly_less(const Sum& other, double share = kClearlyLess) const {
    if (due < other.due - share * other.due) return true;
    return due <= other.due + kClearlyLess * other.due && rest < other.rest - share * other.rest;
  }
};

class ListPlanner::Search {
 public:
  Search(ListPlanner& planner, const Cluster& cluster)
      : p_(planner),
        cluster_(cluster),
        count_(std::min(planner.order_.size(), kSearched)),
        tries_(std::min(kTries, kLooks / std::max<std::size_t>(1, count_ * planner.boards_.size()))) {}

  // Leaves the jobs in front planned in the best way found.
  void run() {
    least_ = plan_front();
    best_ = p_.planned_;
    try_orders();
    try_sizes();
    if (planned_is_best_) return;
    p_.take_back_all(cluster_);
    plan_front();
  }

 private:
  bool has_deadline(const Listed& one) const { return cluster_.jobs().job(one.job).has_deadline(); }

  Sum plan_front() {
    Sum sum;
    for (std::size_t i = 0; i < count_; ++i) {
      const Listed& one = p_.order_[i];
      p_.plan_job(cluster_, one);
      const Option& option = p_.planned_.back().option;
      const bool held = one.only != kNoType && one.promised == kNoPromise && option.begin != cluster_.now();
      (has_deadline(one) ? sum.due : sum.rest) += held ? kNotNow : option.cost;
    }
    return sum;
  }

  bool better(double share = kClearlyLess) {  // plans the list as it is now
    p_.take_back_all(cluster_);
    const Sum sum = plan_front();
    planned_is_best_ = sum.clearly_less(least_, share);
    if (planned_is_best_) {
      least_ = sum;
      best_ = p_.planned_;
    }
    return planned_is_best_;
  }

  // A job that would be late is planned first. Jobs for which slices are being made stay in front.
  void try_orders() {
    auto& order = p_.order_;
    const auto free =
        std::find_if(order.begin(), order.end(), [](const Listed& one) { return one.promised == kNoPromise; });
    const auto free_rest = std::find_if(free, order.end(), [&](const Listed& one) { return !has_deadline(one); });
    std::size_t tries = 0;
    for (std::size_t i = 1; i < count_ && tries < tries_; ++i) {
      const Option& option = best_[i].option;
      const bool waits = option.valid() && option.begin > cluster_.now() && order[i].promised == kNoPromise;
      if (!waits || option.late <= 0) continue;
      ++tries;
      const auto front = has_deadline(order[i]) ? free : free_rest, late = order.begin() + std::ptrdiff_t(i);
      std::rotate(front, late, late + 1);
      if (!better(kOrderGain)) std::rotate(front, front + 1, late + 1);
    }
  }

  // Jobs that begin now while others wait take the next smaller size, those of one GPU together or one of them, or the
  // next larger: what is cheapest for each by itself may leave no room for the others.
  void try_sizes() {
    std::size_t tries = 0;
    const auto enough = [&] { return tries == tries_ || !some_wait(); };
    const auto take = [&](std::size_t first, std::size_t end, bool larger) {
      const auto before = p_.order_;
      bool other = false;
      for (std::size_t i = first; i < end; ++i) {
        if (!begins_now(i) || best_[i].option.gpu != best_[first].option.gpu) continue;
        const TypeId size = p_.next_size(cluster_, best_[i].job, type_of(best_[i].option), larger);
        if (size != kNoType) p_.order_[i].only = size, other = true;
      }
      if (!other) return false;
      ++tries;
      if (better()) return true;
      p_.order_ = before;
      return false;
    };
    for (std::size_t i = 0; i < count_ && !enough(); ++i)
      if (begins_now(i) && first_of_its_gpu(i)) take(i, count_, false);
    for (std::size_t i = 0; i < count_; ++i)
      for (const bool larger : {false, true}) {
        if (enough()) return;
        if (!begins_now(i) || take(i, i + 1, larger)) break;
      }
  }
  bool begins_now(std::size_t i) const {
    return best_[i].option.valid() && best_[i].option.begin == cluster_.now() && p_.order_[i].promised == kNoPromise;
  }
  bool first_of_its_gpu(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j)
      if (begins_now(j) && best_[j].option.gpu == best_[i].option.gpu) return false;
    return true;
  }
  bool some_wait() const {
    return std::any_of(best_.begin(), best_.end(),
                       [&](const Booking& one) { return one.option.valid() && one.option.begin > cluster_.now(); });
  }
  TypeId type_of(const Option& option) const { return cluster_.platform().type_of(GpuId(option.gpu), option.where); }

  ListPlanner& p_;
  const Cluster& cluster_;
  std::size_t count_, tries_;
  Sum least_;
  std::vector<Booking> best_;
  bool planned_is_best_ = true;  // planned_ is best_
};

void ListPlanner::search(const Cluster& cluster) { Search(*this, cluster).run(); }

void ListPlanner::take_back_all(const Cluster& cluster) {
  planned_.clear();
  rooms_ = 0;
  for (std::uint32_t g = 0; g < boards_.size(); ++g) {
    if (boards_[g].reserved) rebuild(cluster, g);
    rooms_ += has_room(cluster, g);
  }
}

// Of the sizes on which the job can run on that GPU model; kNoType: there is none.
TypeId ListPlanner::next_size(const Cluster& cluster, JobId job, TypeId from, bool larger) {
  const Platform& platform = cluster.platform();
  const auto slices = [&](TypeId type) { return platform.type(type).compute_slices; };
  TypeId found = kNoType;
  types_of(cluster, job);
  for (const TypeId type : candidate_.types) {
    if (platform.type(type).model != platform.type(from).model) continue;
    if (larger ? slices(type) <= slices(from) : slices(type) >= slices(from)) continue;
    if (found == kNoType || (larger ? slices(type) < slices(found) : slices(type) > slices(found))) found = type;
  }
  return found;
}

}  // namespace smartmig
