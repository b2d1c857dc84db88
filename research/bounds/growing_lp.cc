#include "research/bounds/growing_lp.h"

#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinError.hpp>

#include "base/errors.h"

namespace smartmig {

struct GrowingLp::State {
  std::vector<double> low, high;  // of rows, before they enter the model
  std::vector<int> rows, starts{0};
  std::vector<double> values, costs, column_high;  // columns not yet in the model
  ClpSimplex model;
  int columns = 0;

  void flush() {
    const int fresh = int(costs.size());
    if (fresh == 0) return;
    const std::vector<double> zero(costs.size(), 0.0);
    model.addColumns(fresh, zero.data(), column_high.data(), costs.data(), starts.data(), rows.data(), values.data());
    rows.clear();
    values.clear();
    costs.clear();
    column_high.clear();
    starts.assign(1, 0);
  }
};

GrowingLp::GrowingLp() : state_(std::make_unique<State>()) { state_->model.setLogLevel(0); }
GrowingLp::~GrowingLp() = default;

int GrowingLp::add_row(double low, double high) {
  state_->low.push_back(std::max(low, -COIN_DBL_MAX));
  state_->high.push_back(std::min(high, COIN_DBL_MAX));
  return int(state_->low.size()) - 1;
}

int GrowingLp::add_column(double cost, std::span<const Entry> entries, double high) {
  State& s = *state_;
  for (const Entry& entry : entries) {
    s.rows.push_back(entry.row);
    s.values.push_back(entry.value);
  }
  s.starts.push_back(int(s.rows.size()));
  s.costs.push_back(cost);
  s.column_high.push_back(std::min(high, COIN_DBL_MAX));
  return s.columns++;
}

int GrowingLp::solved_columns() const { return state_->model.numberColumns(); }

Result<Ok> GrowingLp::solve(const std::string& what) {
  State& s = *state_;
  const auto gave_up = [&](const std::string& why) {
    return lost_error("the solver gave up on {} ({} rows, {} columns): {}", what, s.low.size(), s.columns, why);
  };
  try {
    const bool first = s.model.numberRows() == 0;
    if (first) {
      s.model.resize(int(s.low.size()), 0);
      for (std::size_t r = 0; r < s.low.size(); ++r) s.model.setRowBounds(int(r), s.low[r], s.high[r]);
    }
    s.flush();
    if (first)
      s.model.dual();
    else
      s.model.primal();
    if (s.model.status() != 0) s.model.primal();
  } catch (const CoinError& error) {
    return gave_up(error.message());
  }
  if (s.model.status() != 0) return gave_up("status " + std::to_string(s.model.status()));
  return Ok{};
}

double GrowingLp::objective() const { return state_->model.objectiveValue(); }
const double* GrowingLp::values() const { return state_->model.primalColumnSolution(); }
const double* GrowingLp::duals() const { return state_->model.dualRowSolution(); }

}  // namespace smartmig
