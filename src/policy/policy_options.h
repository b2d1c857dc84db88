// A policy's options besides its name. Each of the three files or lists is the parameter of one policy and has its own
// flag (policy_table.h). A policy refuses the parameter of another.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "policy/placing/job_value.h"
#include "policy/placing/placing_rules.h"
#include "policy/planner/slice_price.h"

namespace smartmig {

struct PolicyOptions {
  std::string layouts;  // --layouts: "1,1,2,3,3,5,5,10", "4g+2g+1g", or the path of a layouts file (layout_file.h)
  std::string weights;  // --weights: the weights file of market (job_value.h)
  std::string
      network;  // --network: a trained network's file, or the name of a shipped one, and how it draws (meanfield.h)
  RuleOptions rule;
  std::optional<JobWeights> market_weights;   // replace the file's (smartmig tune)
  double effort = 1;                          // share of a searching policy's usual effort; less in futures
  bool plain = false;                         // use the plain placer even if a fast one exists
  Time gather{};                              // `best`: see BestOptions
  std::shared_ptr<ArrivalAverages> arrivals;  // the arrivals that the planner has seen (slice_price.h); null: none yet
};

}  // namespace smartmig
