// What a policy may be given beside its name. Each of the three files or lists is one policy's parameter and has a flag
// of its own (policy_table.h); a policy refuses a parameter that is not its own.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "policy/job_value.h"
#include "policy/placing_rules.h"
#include "policy/slice_price.h"

namespace smartmig {

struct PolicyOptions {
  std::string layouts;  // --layouts: "1,1,2,3,3,5,5,10", "4g+2g+1g", or the path of a layouts file (layout_file.h)
  std::string weights;  // --weights: the planner's weights file (job_value.h)
  std::string
      network;  // --network: a trained network's file or the name of a shipped one, and how it draws (meanfield.h)
  RuleOptions rule;
  std::optional<JobWeights> planner_weights;  // instead of the file's (smartmig tune)
  double effort = 1;                          // share of the usual search of a policy that searches: less in futures
  bool plain = false;                         // the plain placer even where a fast one exists
  Time gather{};                              // `best`: see BestOptions
  std::shared_ptr<ArrivalAverages> arrivals;  // what the planner has seen come (slice_price.h); null: it begins afresh
};

}  // namespace smartmig
