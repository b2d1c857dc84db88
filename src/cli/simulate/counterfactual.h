// smartmig replay --policies: simulates a recorded day under other policies, compares it with the record, and reports
// how well the simulator predicts the record.
#pragma once
#include <optional>
#include <string>

#include "eval/counterfactual.h"
#include "model/prices.h"
#include "report/journal.h"

namespace smartmig::cli {

struct CounterfactualOptions {
  std::string policies, cost;  // cost empty: the journal's
  PolicyOptions parameters;    // of the policies that take them
  std::string jobs;            // a file of `queue --all --json`: joules as measured; else the journal's notes
  std::optional<EnergyPrices> prices;
  std::string title;  // what is replayed, in words
  bool json = false;
};
// Attributed joules of ended jobs, by the name they have in a journal.
Result<std::map<std::string, double>> read_job_joules(const std::string& path);
int print_counterfactual(const ReplayedRun& run, const std::map<std::string, double>& noted_joules,
                         const CounterfactualOptions& options);

}  // namespace smartmig::cli
