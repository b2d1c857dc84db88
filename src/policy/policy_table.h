// The table of policies: a row says all that the rest of the program may know about a policy. --help, error messages,
// `decide` and the daemon read facts here and never guess them from a name. A new policy is one row in policy_table.cc.
//
// How a policy is written:
//   NAME            layouts and placement by one policy                  planner, market
//   NAME+PLACER     layouts by NAME, jobs put on slices by PLACER        static+cedf
//   NAME:VALUE      with its own number or word                          batch:0.5, best:patient
//   NAME[TEXT]      with its parameter in place of the flag              static[3]+edf, market[mine.json]
//   guard(POLICY)   watched, with plain policies to fall back to         guard(meanfield+cedf)
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/placing/job_value.h"
#include "policy/placing/placer.h"
#include "policy/placing/placing_rules.h"
#include "policy/planner/slice_price.h"

namespace smartmig {

// A policy's options besides its name. Each of the three files or lists is the parameter of one policy and has its own
// flag (policy_table.h). A policy refuses the parameter of another.
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

struct PolicyParameter {
  const char* flag;        // "--layouts"
  const char* value_name;  // "LIST|FILE"
  const char* summary;
  std::string PolicyOptions::*text;
};
std::span<const PolicyParameter> policy_parameters();

// A maker's input. `value` is the text after the colon of NAME:VALUE; empty: none.
struct PolicyRequest {
  std::string_view name;
  const PolicyOptions& options;
  const CostModel& cost;
  const Platform& platform;
  std::string_view value;
};
struct MadeLayouts {
  std::unique_ptr<Repartitioner> repartitioner;
  std::vector<std::uint64_t> training_seeds;  // the seeds of its search or training
  std::string trained_for = {};               // a trained network's cost model; empty: none, or unknown
};
struct MadePolicy {
  std::unique_ptr<Policy> policy;
  std::string layouts;  // the source of its layouts, in words
  std::vector<std::uint64_t> training_seeds;
};

struct PolicyRow {
  const char* name;
  const char* summary;        // a line that begins with a verb: "leaves every GPU whole"
  bool learned = false;       // a trained network decides, so the daemon guards it
  bool fixed_shapes = false;  // its shapes do not depend on the queue, so it can ask for them before a job arrives
  bool uses_energy = false;   // needs watts
  std::optional<CostModel::Kind> only_at = {};  // the cost model that it is made for; nothing: any
  const PolicyParameter* parameter = nullptr;   // the parameter that it takes
  const char* default_layouts = "";             // default for --layouts; a caller may pass the GPUs' own
  const char* value_name = "";                  // "W": NAME:W is allowed
  Result<MadeLayouts> (*make_layouts)(const PolicyRequest&) = nullptr;  // for NAME+PLACER
  Result<MadePolicy> (*make)(const PolicyRequest&) = nullptr;           // for NAME
};
std::span<const PolicyRow> policies();

struct PlacerRow {
  const char* name;
  const char* summary;
  bool uses_energy;
  std::unique_ptr<Placer> (*make)(const PolicyOptions&, const CostModel&);
};
std::span<const PlacerRow> placers();
Result<const PlacerRow*> find_placer(std::string_view name);

std::vector<std::string> repartitioner_names();
std::vector<std::string> placer_names();

struct PolicyName {
  std::string text;  // without guard() and brackets: "static+cedf"
  bool guarded = false;
  const PolicyRow* policy = nullptr;
  const PlacerRow* placer = nullptr;  // null: the policy places jobs itself
  std::string value;                  // the text after the colon
  bool has_brackets = false;
  std::string in_brackets;

  bool uses_energy() const { return policy->uses_energy || (placer && placer->uses_energy); }
  // The same, with guard() if it was written.
  std::string full() const { return guarded ? "guard(" + text + ")" : text; }
};
Result<PolicyName> parse_policy_name(std::string_view text);

// The options, with the text in brackets as the parameter. kInvalid: they have another policy's parameter.
Result<PolicyOptions> options_of(const PolicyName& name, PolicyOptions options);
// The options without other policies' parameters: for a list of policies that share options.
PolicyOptions own_parameters(const PolicyName& name, PolicyOptions options);
PolicyOptions without_parameters(PolicyOptions options);

// All policies and placers, one per line, for --help.
std::string policy_help();

}  // namespace smartmig
