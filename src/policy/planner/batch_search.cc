#include "policy/planner/batch_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace smartmig {
namespace {

constexpr double kPrices[] = {0, 1, 4, 16, 1e9};
constexpr double kEvenAtFirst = 0.4;
constexpr std::size_t kClosely = 16;  // GPUs that a job looks at when it is added: those that have room soonest

void add(ScheduleValue& to, const ScheduleValue& more, double sign = 1) {
  to.order_s += sign * more.order_s;
  to.joules += sign * more.joules;
  to.change_s += sign * more.change_s;
  to.squares_s2 += sign * more.squares_s2;
  to.taught_s += sign * more.taught_s;
}

ScheduleValue total_of(std::span<const ScheduleValue> values) {
  ScheduleValue all;
  for (const ScheduleValue& value : values) {
    add(all, value);
    all.end_s = std::max(all.end_s, value.end_s);
  }
  return all;
}

double first_free(const PaperBoard& board, std::size_t slots) {
  return *std::min_element(board.free_s.begin(), board.free_s.begin() + std::ptrdiff_t(slots));
}

}  // namespace

ScheduleValue BatchSearch::laid(std::size_t gpu, const PlannedRuns& runs, bool& fits) {
  PaperBoard board = problem_.board(gpu);
  for (const PlannedRun run : runs) {
    ++laid_;
    if (!problem_.lay(gpu, run, board)) {
      fits = false;
      return {};
    }
  }
  return problem_.value_of(gpu, board);
}

void BatchSearch::take(std::vector<PlannedRuns> lists) {
  lists_ = std::move(lists);
  values_.resize(lists_.size());
  gpu_of_.assign(problem_.jobs(), std::numeric_limits<std::uint32_t>::max());
  open_.clear();
  for (std::size_t g = 0; g < lists_.size(); ++g) {
    bool fits = true;
    values_[g] = laid(g, lists_[g], fits);
    for (const PlannedRun run : lists_[g]) gpu_of_[run.job] = std::uint32_t(g);
    if (problem_.open(g)) open_.push_back(std::uint32_t(g));
  }
  all_ = total_of(values_);
  worth_ = problem_.worth(all_);
}

void BatchSearch::begin_with(std::vector<PlannedRuns> lists) {
  for (std::size_t g = 0; g < lists.size(); ++g)
    std::erase_if(lists[g],
                  [&](const PlannedRun run) { return !problem_.open(g) || problem_.run_s(run.job, g, run.where) < 0; });
  take(std::move(lists));
}

std::vector<PlannedRuns> BatchSearch::extended(std::vector<PlannedRuns> lists, std::span<const std::uint16_t> jobs,
                                               double price) const {
  std::vector<PaperBoard> boards;
  std::vector<double> room(problem_.gpus(), 0);
  for (std::size_t g = 0; g < problem_.gpus(); ++g) {
    boards.push_back(problem_.board(g));
    for (const PlannedRun run : lists[g]) problem_.lay(g, run, boards[g]);
    room[g] = first_free(boards[g], problem_.geometry(g).slots);
  }
  std::vector<std::uint32_t> near = open_;
  for (const std::uint16_t job : jobs) {
    if (open_.size() > kClosely) {
      near = open_;
      std::partial_sort(near.begin(), near.begin() + kClosely, near.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(room[a], a) < std::pair(room[b], b);
      });
      near.resize(kClosely);
    }
    double least = std::numeric_limits<double>::infinity();
    std::size_t best_gpu = 0;
    PlannedRun best{job, PaperBoard::kNothing};
    const auto look = [&](std::uint32_t g) {
      for (const std::uint8_t where : problem_.geometry(g).offered) {
        PaperBoard board = boards[g];
        if (!problem_.lay(g, {job, where}, board)) continue;
        const double area = problem_.run_s(job, g, where) * problem_.geometry(g).slices[where];
        const double end = board.free_s[problem_.geometry(g).first[where]];
        const double cost = end + 1e-3 * (board.end_s - boards[g].end_s) +
                            price * (area - problem_.least_area_s(job)) / std::max(1, problem_.slices());
        if (cost < least) least = cost, best.where = where, best_gpu = g;
      }
    };
    for (const std::uint32_t g : near) look(g);
    for (std::size_t i = 0; i < open_.size() && best.where == PaperBoard::kNothing; ++i) look(open_[i]);
    if (best.where == PaperBoard::kNothing) continue;
    problem_.lay(best_gpu, best, boards[best_gpu]);
    room[best_gpu] = first_free(boards[best_gpu], problem_.geometry(best_gpu).slots);
    lists[best_gpu].push_back(best);
  }
  return lists;
}

void BatchSearch::complete(bool thorough) {
  std::vector<std::uint16_t> all(problem_.jobs()), missing;
  std::iota(all.begin(), all.end(), std::uint16_t(0));
  const auto longest_first = [&](std::uint16_t a, std::uint16_t b) {
    return problem_.efficient_run_s(a) > problem_.efficient_run_s(b);
  };
  std::stable_sort(all.begin(), all.end(), longest_first);
  for (const std::uint16_t job : all)
    if (gpu_of_[job] == std::numeric_limits<std::uint32_t>::max()) missing.push_back(job);
  const std::vector<PlannedRuns> before = lists_;
  bool any = missing.empty() && !thorough;
  const auto consider = [&](const std::vector<PlannedRuns>& start, std::span<const std::uint16_t> jobs, double price) {
    BatchSearch other(problem_, 0);
    other.take(extended(start, jobs, price));
    if (any && other.worth_ >= worth_) return;
    any = true;
    take(std::move(other.lists_));
  };
  if (!missing.empty())
    for (const double price : {1.0, 16.0}) consider(before, missing, price);
  if (!thorough) return;
  any = missing.empty() || any;
  const std::vector<PlannedRuns> empty(problem_.gpus());
  for (const double price : kPrices) consider(empty, all, price);
  std::stable_sort(all.begin(), all.end(), [&](std::uint16_t a, std::uint16_t b) {
    return problem_.efficient_slices(a) > problem_.efficient_slices(b);
  });
  for (const double price : kPrices) consider(empty, all, price);
}

std::size_t BatchSearch::position(std::size_t gpu, std::uint16_t job) const {
  std::size_t i = 0;
  while (lists_[gpu][i].job != job) ++i;
  return i;
}

// A random change of one or two lists, into trial_.
bool BatchSearch::propose(std::size_t& first, std::size_t& second) {
  const auto job = std::uint16_t(rng_.below(problem_.jobs()));
  if (gpu_of_[job] == std::numeric_limits<std::uint32_t>::max()) return false;
  first = second = gpu_of_[job];
  const std::size_t at = position(first, job);
  trial_[0] = lists_[first];
  const std::uint64_t kind = rng_.below(4);
  if (kind == 0) {
    const auto& offered = problem_.geometry(first).offered;
    trial_[0][at].where = offered[rng_.below(offered.size())];
    return true;
  }
  if (kind == 1) {
    const auto other = std::uint16_t(rng_.below(problem_.jobs()));
    if (other == job || gpu_of_[other] == std::numeric_limits<std::uint32_t>::max()) return false;
    second = gpu_of_[other];
    const std::size_t there = position(second, other);
    trial_[0][at].job = other;
    if (second != first) trial_[1] = lists_[second];
    (second == first ? trial_[0] : trial_[1])[there].job = job;
    return true;
  }
  PlannedRun run = trial_[0][at];
  if (rng_.below(2) == 0) second = open_[rng_.below(open_.size())];
  const bool same_model = &problem_.geometry(first) == &problem_.geometry(second);
  if (kind == 2 || !same_model) {
    const auto& offered = problem_.geometry(second).offered;
    run.where = offered[rng_.below(offered.size())];
  }
  trial_[0].erase(trial_[0].begin() + std::ptrdiff_t(at));
  if (second != first) trial_[1] = lists_[second];
  PlannedRuns& to = second == first ? trial_[0] : trial_[1];
  to.insert(to.begin() + std::ptrdiff_t(rng_.below(to.size() + 1)), run);
  return true;
}

void BatchSearch::refine(std::int64_t moves, double threshold, std::int64_t work) {
  if (problem_.jobs() == 0 || open_.empty()) return;
  std::vector<PlannedRuns> best;
  double least = worth_;
  bool at_best = true;  // the present schedule is the best so far, and not yet in `best`
  threshold *= worth_;
  laid_ = 0;
  for (std::int64_t move = 0; move < moves && laid_ < work; ++move) {
    const double left = 1 - std::max(double(move) / double(moves), double(laid_) / double(work));
    std::size_t first = 0, second = 0;
    laid_ += std::int64_t(1 + lists_.size() / 16);
    if (!propose(first, second)) continue;
    bool fits = true;
    const ScheduleValue a = laid(first, trial_[0], fits);
    if (!fits) continue;
    const ScheduleValue b = second == first ? ScheduleValue{} : laid(second, trial_[1], fits);
    if (!fits) continue;
    ScheduleValue all = all_;
    add(all, values_[first], -1);
    add(all, a);
    all.end_s = std::max(a.end_s, b.end_s);
    if (second != first) {
      add(all, values_[second], -1);
      add(all, b);
    }
    for (std::size_t g = 0; g < values_.size(); ++g)
      if (g != first && g != second) all.end_s = std::max(all.end_s, values_[g].end_s);
    const double even = ScheduleProblem::kEven + (kEvenAtFirst - ScheduleProblem::kEven) * left;
    if (problem_.worth(all, even) > problem_.worth(all_, even) + threshold * left * left) continue;
    const double worth = problem_.worth(all);
    if (at_best && worth > least) {
      best = lists_;
      laid_ += std::int64_t(lists_.size());
      at_best = false;
    }
    for (const PlannedRun run : trial_[0]) gpu_of_[run.job] = std::uint32_t(first);
    lists_[first].swap(trial_[0]);
    values_[first] = a;
    if (second != first) {
      for (const PlannedRun run : trial_[1]) gpu_of_[run.job] = std::uint32_t(second);
      lists_[second].swap(trial_[1]);
      values_[second] = b;
    }
    all_ = all;
    worth_ = worth;
    if (worth < least) least = worth, at_best = true;
  }
  take(at_best ? std::move(lists_) : std::move(best));
}

}  // namespace smartmig
