// A linear program that gets more columns between solutions, each solved from where the last one ended: for column generation
// (run_master.h) and for programs whose dual values are wanted (order_schedule.h). Minimises; the solver is Clp. Its answers guide a
// search and are nothing a proof rests on. Silent; the same calls give the same answers.
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

  // All rows before the first column. Columns are at least 0 and at most `high`.
  int add_row(double low, double high);
  int add_column(double cost, std::span<const Entry> entries, double high);
  int solved_columns() const;  // those of the last solution: what was added since is not in `values`
  // Optimal, or an error with a sentence that calls the program `what`.
  Result<Ok> solve(const std::string& what);
  double objective() const;
  const double* values() const;  // of columns
  const double* duals() const;   // of rows

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smartmig
