// Policies by name: REPARTITIONER+PLACER, for example "static+cedf" or "none+edf".
//   repartitioners  none | static | twice | search | meanfield | planner     placers  those of placing_rules.h
// "planner" alone is a joint policy: it chooses layouts and placement together (planner.h); so are MIGM's "migm-a" and
// "migm-b" (migm.h) and "batch" or "batch:W", W the weight of energy from 0 to 1 (batch.h), under hardware costs only.
// static and twice take layouts (a list, one shape for all GPUs, or a layouts file); without one, static is the paper's
// [1,1,2,3,3,5,5,10] repeated over the fleet, and search and twice are the shipped searched ones (data/layouts).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/job_value.h"
#include "policy/placing_rules.h"
#include "sched/policy.h"

namespace smartmig {

struct PolicyOptions {
  std::string layouts;  // "1,1,2,3,3,5,5,10", "4g+2g+1g", or the path of a layouts file
  RuleOptions rule;
  std::optional<JobWeights> planner_weights;  // instead of the file's (smartmig tune)
  bool plain = false;                         // the plain placer even where a fast one exists
};

struct NamedPolicy {
  std::string name;
  std::unique_ptr<Policy> policy;
  std::vector<Shape> initial;                 // one per GPU
  std::string layouts;                        // in words, for reports
  std::vector<std::uint64_t> training_seeds;  // seeds it was searched or trained on
};

Result<NamedPolicy> make_policy(std::string_view name, const PolicyOptions& options, const CostModel& cost,
                                const Platform& platform);

Result<std::unique_ptr<Placer>> make_placer(std::string_view name, const PolicyOptions& options, const CostModel& cost);

std::vector<std::string> repartitioner_names();
std::vector<std::string> placer_names();

// One shape per GPU from a list of shapes separated by commas; a single one serves all GPUs; with `cyclic`, a shorter
// list is repeated over the fleet.
Result<std::vector<Shape>> parse_shapes(const Platform& platform, const std::vector<std::string>& shapes, bool cyclic);

}  // namespace smartmig
