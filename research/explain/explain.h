// Describes in words and numbers what a policy does with the layouts: shares of GPU time by hour of day and by state of
// the queue, and a decision table that imitates the policy, with the loss of following the table. The table is fitted
// and judged on different days. A call is every ceil(5 m / 8)-th event, as for the mean-field controller. The state of
// a call counts until the next one; layouts are integrated exactly. Results do not depend on the number of threads.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/experiment.h"
#include "eval/statistics.h"
#include "research/explain/decision_table.h"

namespace smartmig {

struct ShareBin {
  std::string label;          // "8-10 h"
  double gpu_hours = 0;       // per day
  std::vector<double> share;  // share of the GPU time, by layout; sums to 1
};
struct ShareTable {
  std::string title, key, unit;
  std::vector<ShareBin> bins;  // only bins that occurred
};

struct Explanation {
  std::string policy, placer;       // placer: the one that runs with the table
  bool joint = false;               // the policy places jobs itself, so table and policy also differ in that
  std::vector<ModelShape> layouts;  // the papers' or the maximal ones of each model, then other used ones
  std::vector<std::string> names;   // "4g.20gb+2g.10gb+1g.10gb", with the model if the fleet is mixed
  std::vector<int> paper;           // number in the papers; 0: none
  std::vector<double> time_share, call_share;
  std::vector<ShareTable> tables;                                        // by hour, unfinished, late, backlog
  double reshapes = 0;                                                   // changes of a GPU's layout per GPU and hour
  double sublinearity = 1, sublinearity_low = 1, sublinearity_high = 1;  // over calls: mean, 5 % and 95 %

  DecisionTable table;
  std::size_t fit_calls = 0, calls = 0;
  Fidelity fidelity, constant_fidelity;  // constant: one row with the mean share
  double et = 0;                         // means over the days, minutes
  Difference table_loss, constant_loss;  // of ET against the policy
  std::optional<double> split_et;        // joint policies: the same layouts with `placer`, if the registry has the pair
};

struct ExplainOptions {
  std::vector<std::uint64_t> seeds, fit_seeds;
  TableOptions table;
  std::string joint_placer = "cedf";
  int threads = 1;
};

Result<Explanation> explain_policy(const Setting& setting, const Contender& contender, const ExplainOptions& options,
                                   const std::function<void(double)>& progress = {});

// Fig. 13 of arXiv 2606.29775: per cent of layouts 1 to 7, and 8 to 12 together.
inline constexpr double kPaperShares[8] = {29.3, 27.4, 13.6, 5.7, 2.7, 5.9, 10.4, 5.0};

}  // namespace smartmig
