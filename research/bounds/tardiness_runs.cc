#include "research/bounds/tardiness_runs.h"

#include <chrono>
#include <numeric>

#include "research/bounds/tardiness_search.h"

namespace smartmig {
namespace {

constexpr double kFirstSlot = 1;        // minutes: widest slot of the first grid
constexpr double kShortestSlot = 0.01;  // no slot is cut shorter
constexpr double kFlat = 5e-7;          // share of the value: smaller changes of prices do not justify an edge
constexpr double kSamePrice = 1e-9;
constexpr std::size_t kMostHalves = 60;  // per refinement
constexpr int kRounds = 300;             // of column generation
constexpr std::size_t kTrials = 4;       // tried splits, of which the best is taken
constexpr double kGoodSplit = 0.3;       // share of the open gap: a split this good ends the trials
constexpr double kSharpEnd = 1e-3;       // minutes: a mixture of ends this close counts as one end
constexpr double kRounding = 1e-9;       // subtracted, relative and absolute: sums of a few thousand doubles

struct RunsBranch {
  double bound;
  std::vector<EndWindow> windows;
  std::vector<double> prices, end, spread;  // end, spread: of its mixtures (run_master.h)
};

class RunsSolver {
 public:
  RunsSolver(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines, const RunsOptions& options)
      : jobs_(jobs), machines_(machines), options_(options), master_(jobs, machines) {}

  Result<RunsAnswer> solve() {
    const auto begin = std::chrono::steady_clock::now();
    if (!jobs_.empty()) {
      start();
      SMARTMIG_TRY(RunsBranch root, bound_all());
      answer_.root = answer_.bound;
      if (!met() && options_.branches > 0) {
        SMARTMIG_TRY([[maybe_unused]] const Ok done, branch(std::move(root)));
      }
    } else {
      answer_.schedule = answer_.first_schedule = 0;
    }
    answer_.solved = met();
    answer_.slots = master_.edges().size();
    answer_.runs = master_.runs();
    answer_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer_;
  }

 private:
  double tolerance() const { return options_.close * (answer_.schedule + options_.certain); }
  bool met() const { return answer_.bound >= answer_.schedule - tolerance(); }
  static double safe(double bound) { return std::max(0.0, bound - kRounding * (1 + bound)); }

  void start() {
    const auto order = search_order(jobs_, machines_, options_.search_steps);
    answer_.first_schedule = answer_.schedule = tardiness_of_order(jobs_, machines_, order);
    ends_ = ends_of_order(jobs_, machines_, order);
    take(best_in_order(jobs_, machines_, ends_));
    std::vector<double> edges;
    const double last = *std::max_element(ends_.begin(), ends_.end());
    for (const LateJob& job : jobs_) edges.push_back(job.release);
    edges.insert(edges.end(), ends_.begin(), ends_.end());
    for (int i = 1; i <= 4; ++i) edges.push_back(last * (1 + 0.05 * i));
    tidy(edges, kFirstSlot);
    master_.set_edges(std::move(edges));
  }

  bool take(OrderedSchedule schedule) {
    const double value = schedule.tardiness + kMipTolerance;
    if (!std::isfinite(value)) return false;
    for (std::size_t j = 0; j < jobs_.size(); ++j) master_.add_run(j, std::move(schedule.runs[j]));
    if (value >= answer_.schedule) return false;
    answer_.schedule = value;
    ends_ = std::move(schedule.ends);
    return true;
  }

  // Sorts the edges: none closer than the shortest slot, none further apart than `widest` early and 4 times that late.
  static void tidy(std::vector<double>& edges, double widest) {
    std::sort(edges.begin(), edges.end());
    std::vector<double> result;
    for (const double edge : edges) {
      if (!result.empty()) {
        const double from = result.back();
        if (edge < from + kShortestSlot) continue;
        const int parts = int(std::ceil((edge - from) / widest));
        for (int i = 1; i < parts; ++i) result.push_back(from + (edge - from) * i / parts);
      }
      result.push_back(edge);
    }
    edges = std::move(result);
  }

  // Halves the slots in which prices change most, drops edges without a change, and adds the ends of the best schedule.
  // `prices` become those of the new grid.
  bool refine(std::vector<double>& prices, bool new_ends) {
    const std::vector<double> edges = master_.edges();
    const std::size_t slots = edges.size() - 1, classes = machines_.size();
    const double threshold = kFlat * (answer_.schedule + options_.certain);
    std::vector<std::pair<double, double>> halves;  // the possible gain of an edge, and its position
    std::vector<double> all;
    for (std::size_t s = 0; s < slots; ++s) {
      const double length = edges[s + 1] - edges[s];
      double change = 0, step = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        const double here = prices[s * classes + c], before = s > 0 ? prices[(s - 1) * classes + c] : -1;
        const double after = s + 1 < slots ? prices[(s + 1) * classes + c] : 0;
        change += machines_[c].count * length * std::abs((s > 0 ? before : here) - after) / 16;
        step = std::max(step, std::abs(here - before));
      }
      if (step > kSamePrice) all.push_back(edges[s]);
      if (length >= 2 * kShortestSlot && change > threshold)
        halves.emplace_back(-change, (edges[s] + edges[s + 1]) / 2);
    }
    all.push_back(edges.back());
    if (halves.empty() && !new_ends) return false;
    std::sort(halves.begin(), halves.end());
    for (std::size_t i = 0; i < std::min(kMostHalves, halves.size()); ++i) all.push_back(halves[i].second);
    if (new_ends) all.insert(all.end(), ends_.begin(), ends_.end());
    tidy(all, kMipInfinity);
    std::vector<double> carried;
    for (std::size_t s = 0; s + 1 < all.size(); ++s) {
      const double middle = (all[s] + all[s + 1]) / 2;
      const std::size_t old = std::size_t(std::upper_bound(edges.begin(), edges.end(), middle) - edges.begin()) - 1;
      for (std::size_t c = 0; c < classes; ++c) carried.push_back(prices[std::min(old, slots - 1) * classes + c]);
    }
    prices = std::move(carried);
    master_.set_edges(std::move(all));
    return true;
  }

  // Makes schedules in the order of the mixtures' mean ends.
  bool improve(const std::vector<double>& ends) {
    std::vector<std::size_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return ends[x] < ends[y]; });
    const bool by_priority = take(best_in_order(jobs_, machines_, ends_of_order(jobs_, machines_, order), 3));
    return take(best_in_order(jobs_, machines_, ends, 3)) || by_priority;
  }

  Result<RunsBranch> bound_all() {
    RunsBranch root{0, std::vector<EndWindow>(jobs_.size()), {}, {}, {}};
    for (int grid = 0;; ++grid) {
      SMARTMIG_TRY(RunMasterAnswer answer,
                   master_.solve(root.windows, {answer_.schedule, tolerance() / 8, kRounds}, root.prices));
      answer_.bound = std::max(answer_.bound, safe(answer.bound));
      const bool better = improve(answer.end);
      root = {answer_.bound, root.windows, std::move(answer.prices), std::move(answer.end), std::move(answer.spread)};
      if (met() || grid >= options_.grids || !refine(root.prices, better)) break;
    }
    return root;
  }

  // Splits a branch at a time for the end of one job. Omits a side without a schedule.
  Result<std::vector<RunsBranch>> split(const RunsBranch& parent, std::size_t job) {
    std::vector<RunsBranch> sides;
    for (const bool early : {true, false}) {
      ++answer_.branches;
      RunsBranch side{parent.bound, parent.windows, {}, {}, {}};
      (early ? side.windows[job].latest : side.windows[job].earliest) = parent.end[job];
      SMARTMIG_TRY(
          RunMasterAnswer answer,
          master_.solve(side.windows, {answer_.schedule - tolerance() / 2, tolerance() / 8, kRounds}, parent.prices));
      if (answer.infeasible) continue;
      side.bound = std::max(side.bound, safe(answer.bound));
      side.prices = std::move(answer.prices);
      side.end = std::move(answer.end);
      side.spread = std::move(answer.spread);
      sides.push_back(std::move(side));
    }
    return sides;
  }

  // The probable gain of splitting a job: its past gain as a share of what was open. Before the first split: how much
  // its ends differ relative to its length, since long jobs that can swap places have ends that differ much but gain
  // nothing.
  double promise(const RunsBranch& branch, std::size_t job) const {
    if (branch.spread[job] < kSharpEnd) return -1;
    return tried_[job] > 0 ? brought_[job] / tried_[job] : std::min(1.0, branch.spread[job] / jobs_[job].fastest);
  }

  // The best split of a few.
  Result<std::vector<RunsBranch>> best_split(const RunsBranch& parent) {
    std::vector<std::size_t> by_promise(jobs_.size());
    std::iota(by_promise.begin(), by_promise.end(), 0);
    std::stable_sort(by_promise.begin(), by_promise.end(),
                     [&](std::size_t x, std::size_t y) { return promise(parent, x) > promise(parent, y); });
    std::vector<RunsBranch> best;
    double most = -1;
    const double open = std::max(1e-12, answer_.schedule - parent.bound);
    for (std::size_t i = 0; i < std::min(kTrials, by_promise.size()) && answer_.branches + 2 <= options_.branches;
         ++i) {
      const std::size_t job = by_promise[i];
      if (promise(parent, job) < 0) break;
      SMARTMIG_TRY(std::vector<RunsBranch> sides, split(parent, job));
      double least = answer_.schedule;
      for (const RunsBranch& side : sides) least = std::min(least, side.bound);
      const double gain = std::min(1.0, (least - parent.bound) / open);
      ++tried_[job];
      brought_[job] += gain;
      if (gain > most) {
        most = gain;
        best = std::move(sides);
      }
      if (gain > kGoodSplit) break;
    }
    if (most < 0) best.push_back(parent);  // every end is sharp, or no branch is left
    return best;
  }

  Result<Ok> branch(RunsBranch root) {
    tried_.assign(jobs_.size(), 0);
    brought_.assign(jobs_.size(), 0);
    // The grid may have been refined after the root was solved.
    SMARTMIG_TRY(RunMasterAnswer again,
                 master_.solve(root.windows, {answer_.schedule, tolerance() / 8, kRounds}, root.prices));
    root.bound = answer_.bound = std::max(answer_.bound, safe(again.bound));
    root.prices = std::move(again.prices);
    std::vector<RunsBranch> open{std::move(root)};
    while (!met() && answer_.branches + 2 <= options_.branches) {
      const auto least =
          std::min_element(open.begin(), open.end(), [](const auto& x, const auto& y) { return x.bound < y.bound; });
      const RunsBranch parent = std::move(*least);
      open.erase(least);
      const int before = answer_.branches;
      SMARTMIG_TRY(std::vector<RunsBranch> sides, best_split(parent));
      for (RunsBranch& side : sides) {
        if (side.bound < answer_.schedule - tolerance()) improve(side.end);
        open.push_back(std::move(side));
      }
      answer_.bound = answer_.schedule;
      for (const RunsBranch& some : open) answer_.bound = std::min(answer_.bound, some.bound);
      if (answer_.branches == before) break;
    }
    return Ok{};
  }

  const std::vector<LateJob>& jobs_;
  const std::vector<Machines>& machines_;
  const RunsOptions& options_;
  RunMaster master_;
  RunsAnswer answer_;
  std::vector<double> ends_;             // the best schedule's
  std::vector<double> tried_, brought_;  // by job: number of splits, and their gains
};

}  // namespace

Result<RunsAnswer> solve_tardiness(const std::vector<LateJob>& jobs, const std::vector<Machines>& machines,
                                   const RunsOptions& options) {
  return RunsSolver(jobs, machines, options).solve();
}

}  // namespace smartmig
