// A linear program that gains columns between solutions; each solution starts from the last one. For column generation
// (run_master.h) and for programs whose dual values are needed (order_schedule.h). Minimises; the solver is Clp. Its
// answers guide a search, and no proof rests on them. Silent; the same calls give the same answers.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

class GrowingLp {
 public:
  struct Entry {
    int row;
    double value;
  };
  GrowingLp();
  ~GrowingLp();
  GrowingLp(const GrowingLp&) = delete;
  GrowingLp& operator=(const GrowingLp&) = delete;

  // Add all rows before the first column. Columns are at least 0 and at most `high`.
  int add_row(double low, double high);
  int add_column(double cost, std::span<const Entry> entries, double high);
  int solved_columns() const;  // columns of the last solution: `values` lacks those added since
  // Optimal, or an error that names the program as `what`.
  Result<Ok> solve(const std::string& what);
  double objective() const;
  const double* values() const;  // of columns
  const double* duals() const;   // of rows

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smartmig
