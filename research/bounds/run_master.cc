#include "research/bounds/run_master.h"

#include "research/bounds/growing_lp.h"

namespace smartmig {
namespace {
constexpr double kCalm = 0.7;          // share of the best prices that the tried prices keep
constexpr double kNoRun = 1e4;         // minutes late of a job without a run
constexpr std::size_t kKeptRuns = 16;  // per job, kept between solutions: those nearest to use
}  // namespace

class RunMaster::Solve {
 public:
  Solve(RunMaster& master, const std::vector<EndWindow>& windows)
      : master_(master), jobs_(master.jobs_), windows_(windows), classes_(master.machines_.size()) {
    grid_.edges = master.edges_;
    grid_.classes = classes_;
    for (std::size_t s = 0; s < grid_.slots(); ++s)
      for (const Machines& m : master.machines_) supply_.push_back(m.count * (grid_.edges[s + 1] - grid_.edges[s]));
    for (const double most : supply_) lp_.add_row(-kMipInfinity, most);
    for (std::size_t j = 0; j < jobs_.size(); ++j) lp_.add_row(1, 1);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const GrowingLp::Entry entry{job_row(j), 1};
      lp_.add_column(kNoRun, {&entry, 1}, kMipInfinity);
      column_run_.push_back(kNone);
    }
    for (std::size_t i = 0; i < master.pool_.size(); ++i) add_column(i);
  }

  Result<RunMasterAnswer> go(const RunMasterLimits& limits, const std::vector<double>& prices_to_try) {
    answer_.prices.assign(supply_.size(), 0);
    evaluate(answer_.prices);  // all prices are 0: the tardiness that no schedule avoids
    if (prices_to_try.size() == supply_.size()) evaluate(prices_to_try);
    while (!answer_.infeasible && answer_.rounds < limits.rounds) {
      ++answer_.rounds;
      SMARTMIG_TRY([[maybe_unused]] const Ok solved, lp_.solve("the bound of whole runs"));
      answer_.relaxation = lp_.objective();
      std::vector<double> duals(lp_.duals(), lp_.duals() + supply_.size() + jobs_.size()), prices(supply_.size());
      bool grew = false;
      for (const double calm : {kCalm, 0.0}) {
        for (std::size_t i = 0; i < prices.size(); ++i)
          prices[i] = calm * answer_.prices[i] + (1 - calm) * std::max(0.0, -duals[i]);
        grew = evaluate(prices, &duals);
        if (grew) break;
      }
      if (!grew || answer_.bound >= limits.enough || answer_.relaxation - answer_.bound <= limits.open) break;
    }
    describe();
    return std::move(answer_);
  }

 private:
  static constexpr std::size_t kNone = std::size_t(-1);
  int job_row(std::size_t j) const { return int(supply_.size() + j); }

  std::vector<double> minutes_of(const WholeRun& run) const {
    std::vector<double> minutes(supply_.size());
    const auto& edges = grid_.edges;
    for (const RunPiece& piece : run.pieces) {
      std::size_t s = std::size_t(std::upper_bound(edges.begin(), edges.end(), piece.from) - edges.begin()) - 1;
      const double length = piece.to - piece.from;
      if (length <= 0) continue;
      for (; s < grid_.slots() && edges[s] < piece.to; ++s) {
        const double part = std::min(edges[s + 1], piece.to) - std::max(edges[s], piece.from);
        minutes[s * classes_ + piece.machine] += piece.minutes * std::max(0.0, part) / length;
      }
    }
    return minutes;
  }

  void add_column(std::size_t i) {
    const Column& column = master_.pool_[i];
    if (column.run.end > windows_[column.job].latest + 1e-9) return;
    const std::vector<double> minutes = minutes_of(column.run);
    entries_.clear();
    for (std::size_t row = 0; row < minutes.size(); ++row)
      if (minutes[row] > 1e-12) entries_.push_back({int(row), minutes[row]});
    entries_.push_back({job_row(column.job), 1});
    lp_.add_column(lateness(jobs_[column.job], windows_[column.job], column.run.end), entries_, kMipInfinity);
    column_run_.push_back(i);
  }

  // Takes L(prices) into the answer. With dual values, adds the runs that they call for and says whether there were
  // any.
  bool evaluate(const std::vector<double>& prices, const std::vector<double>* duals = nullptr) {
    grid_.prices = prices;
    PricedRun priced(grid_);
    double value = 0;
    bool grew = false;
    for (std::size_t i = 0; i < prices.size(); ++i) value -= prices[i] * supply_[i];
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      WholeRun run = priced.solve(jobs_[j], windows_[j]);
      if (run.value == kMipInfinity) {
        answer_.infeasible = true;
        return false;
      }
      value += run.value;
      if (!duals) continue;
      double reduced = lateness(jobs_[j], windows_[j], run.end) - (*duals)[std::size_t(job_row(j))];
      const std::vector<double> minutes = minutes_of(run);
      for (std::size_t i = 0; i < minutes.size(); ++i) reduced -= (*duals)[i] * minutes[i];
      if (reduced > -1e-7) continue;
      master_.pool_.push_back({j, std::move(run)});
      add_column(master_.pool_.size() - 1);
      grew = true;
    }
    if (value > answer_.bound) {
      answer_.bound = value;
      answer_.prices = prices;
    }
    return grew;
  }

  void describe() {
    answer_.end.assign(jobs_.size(), 0);
    answer_.spread.assign(jobs_.size(), 0);
    if (answer_.infeasible || answer_.rounds == 0) return;
    const double* values = lp_.values();
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t c = 0; c < column_run_.size() && c < solved_columns(); ++c) {
        if (column_run_[c] == kNone || values[c] <= 0) continue;
        const Column& column = master_.pool_[column_run_[c]];
        const double end = std::max(column.run.end, windows_[column.job].earliest);
        if (pass == 0)
          answer_.end[column.job] += values[c] * end;
        else
          answer_.spread[column.job] += values[c] * std::abs(end - answer_.end[column.job]);
      }
    forget();
  }

  // Keeps the runs that are in use or cost least at the prices of the bound.
  void forget() {
    std::vector<std::vector<std::pair<double, std::size_t>>> by_job(jobs_.size());
    for (std::size_t i = 0; i < master_.pool_.size(); ++i) {
      const Column& column = master_.pool_[i];
      double value = lateness(jobs_[column.job], windows_[column.job], column.run.end);
      const std::vector<double> minutes = minutes_of(column.run);
      for (std::size_t row = 0; row < minutes.size(); ++row) value += answer_.prices[row] * minutes[row];
      by_job[column.job].emplace_back(value, i);
    }
    std::vector<bool> keep(master_.pool_.size(), false);
    for (auto& runs : by_job) {
      std::sort(runs.begin(), runs.end());
      for (std::size_t k = 0; k < std::min(kKeptRuns, runs.size()); ++k) keep[runs[k].second] = true;
    }
    for (std::size_t c = 0; c < solved_columns(); ++c)
      if (column_run_[c] != kNone && lp_.values()[c] > 0) keep[column_run_[c]] = true;
    std::vector<Column> kept;
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (keep[i]) kept.push_back(std::move(master_.pool_[i]));
    master_.pool_ = std::move(kept);
  }
  std::size_t solved_columns() const { return std::size_t(lp_.solved_columns()); }

  RunMaster& master_;
  const std::vector<LateJob>& jobs_;
  const std::vector<EndWindow>& windows_;
  std::size_t classes_;
  PriceGrid grid_;
  std::vector<double> supply_;  // minutes, [slot][class]
  GrowingLp lp_;
  std::vector<std::size_t> column_run_;  // the run in the pool for each column
  std::vector<GrowingLp::Entry> entries_;
  RunMasterAnswer answer_;
};

Result<RunMasterAnswer> RunMaster::solve(const std::vector<EndWindow>& windows, const RunMasterLimits& limits,
                                         const std::vector<double>& prices_to_try) {
  return Solve(*this, windows).go(limits, prices_to_try);
}

}  // namespace smartmig
