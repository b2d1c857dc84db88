#include "policy/policy_table.h"

#include <algorithm>

#include "base/text.h"
#include "policy/placing/fast_cedf.h"
#include "policy/placing/queue_placer.h"
#include "policy/placing/value_placer.h"
#include "policy/policy_makers.h"

namespace smartmig {
namespace {

constexpr PolicyParameter kParameters[] = {
    {"--layouts", "LIST|FILE",
     "layouts of static, twice and search: a list such as 1,1,2,3,3,5,5,10 or 4g+2g+1g, or a layouts file",
     &PolicyOptions::layouts},
    {"--weights", "FILE", "weights of market, from smartmig lab tune", &PolicyOptions::weights},
    {"--network", "FILE", "network of meanfield: a file from smartmig train, or the name of a shipped network",
     &PolicyOptions::network},
};
constexpr const PolicyParameter *kLayouts = &kParameters[0], *kWeights = &kParameters[1], *kNetwork = &kParameters[2];

constexpr PolicyRow kPolicies[] = {
    {.name = "none", .summary = "leaves every GPU whole", .fixed_shapes = true, .make_layouts = make_whole_gpus},
    {.name = "static",
     .summary = "keeps one partition (default: that of the SMART-MIG paper, 1,1,2,3,3,5,5,10)",
     .fixed_shapes = true,
     .parameter = kLayouts,
     .default_layouts = kPaperStaticLayouts,
     .make_layouts = make_static_layouts},
    {.name = "twice",
     .summary = "switches between two partitions a day, which come from a layouts file (default: a shipped one)",
     .fixed_shapes = true,
     .parameter = kLayouts,
     .make_layouts = make_twice_daily},
    {.name = "search",
     .summary = "keeps the partition of a layouts file from smartmig search (default: a shipped one)",
     .fixed_shapes = true,
     .parameter = kLayouts,
     .make_layouts = make_searched_layouts},
    {.name = "meanfield",
     .summary = "uses SMART-MIG's trained network to choose the next layouts",
     .learned = true,
     .parameter = kNetwork,
     .make_layouts = make_meanfield_layouts},
    {.name = "market",
     .summary = "uses the layouts of market and leaves the choice of slices to the placer",
     .uses_energy = true,
     .parameter = kWeights,
     .make_layouts = make_market_layouts},
    {.name = "planner",
     .summary = "chooses layouts and placement together, by finish times; hardware costs",
     .uses_energy = true,
     .only_at = CostModel::kHardware,
     .value_name = "patient|alone",
     .make = make_planner},
    {.name = "market",
     .summary = "chooses layouts and placement together, by the value of progress; paper costs",
     .uses_energy = true,
     .only_at = CostModel::kPaper,
     .parameter = kWeights,
     .make = make_market},
    {.name = "batch",
     .summary = "finishes all waiting jobs as early as possible (W = 0, the default) or with the least energy "
                "(W = 1); hardware costs only",
     .uses_energy = true,
     .only_at = CostModel::kHardware,
     .value_name = "W",
     .make = make_batch},
    {.name = "migm-a",
     .summary =
         "gives each job the smallest slice that fits, grouping jobs by size (MIGM's scheme A); hardware costs only",
     .only_at = CostModel::kHardware,
     .make = make_migm_a},
    {.name = "migm-b",
     .summary = "gives each job the smallest slice that fits, in queue order (MIGM's scheme B); hardware costs only",
     .only_at = CostModel::kHardware,
     .make = make_migm_b},
    {.name = "best",
     .summary =
         "is the default of serve: it uses planner, or batch for many jobs without deadlines; at paper costs, market",
     .uses_energy = true,
     .parameter = kWeights,
     .value_name = "patient|alone",
     .make = make_best},
};

using Options = const PolicyOptions&;
using Cost = const CostModel&;
std::unique_ptr<Placer> by(std::unique_ptr<TurnRule> rule, Options options) {
  if (options.plain) return std::make_unique<PlainPlacer>(std::move(rule));
  return std::make_unique<QueuePlacer>(std::move(rule));
}

constexpr PlacerRow kPlacers[] = {
    {"edf", "jobs by deadline; on the fullest GPU first, the smallest slice that meets the deadline", false,
     [](Options o, Cost) { return by(make_edf_rule(), o); }},
    {"met", "jobs by deadline, each to the slice with the least (a x extra energy + tardiness)", true,
     [](Options o, Cost) { return by(make_met_rule(o.rule.a), o); }},
    {"met-w", "like met, with energy weighted by a x number of jobs", true,
     [](Options o, Cost) { return by(make_met_rule(o.rule.w), o); }},
    {"cedf", "jobs that gain most from large slices first, then by deadline; GPUs with large slices first", false,
     [](Options o, Cost cost) -> std::unique_ptr<Placer> {
       if (o.plain) return by(make_cedf_rule(), o);
       if (cost.free()) return std::make_unique<FastCedf>();
       return by(make_indexed_cedf_rule(), o);
     }},
    {"random", "jobs by deadline, each to a random free slice", false,
     [](Options o, Cost) { return by(make_random_rule(o.rule.seed), o); }},
    {"fifo", "jobs by arrival, slices as for edf", false, [](Options o, Cost) { return by(make_fifo_rule(), o); }},
    {"dedicated", "some GPUs only for inference jobs, the rest for other jobs; slices as for edf", false,
     [](Options o, Cost) { return by(make_dedicated_rule(o.rule.inference_gpus), o); }},
    {"edf-fast", "jobs by deadline, each to the free slice with the earliest finish", false,
     [](Options o, Cost) { return by(make_single_rule(false, true), o); }},
    {"edf-slow", "jobs by deadline, each to the slowest free slice that meets the deadline", false,
     [](Options o, Cost) { return by(make_single_rule(false, false), o); }},
    {"llf-fast", "jobs by least laxity, each to the free slice with the earliest finish", false,
     [](Options o, Cost) { return by(make_single_rule(true, true), o); }},
    {"llf-slow", "jobs by least laxity, each to the slowest free slice that meets the deadline", false,
     [](Options o, Cost) { return by(make_single_rule(true, false), o); }},
    {"value", "all jobs at once, so that the total value of their progress is greatest", true,
     [](Options o, Cost) -> std::unique_ptr<Placer> {
       return std::make_unique<ValuePlacer>(o.market_weights.value_or(shipped_job_weights()), o.rule.w);
     }},
};

const PolicyRow* find_row(std::string_view name, bool with_placer) {
  for (const PolicyRow& row : kPolicies)
    if (row.name == name && (row.make_layouts != nullptr) == with_placer) return &row;
  return nullptr;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return near.empty() ? "" : " (did you mean " + near + "?)";
}

std::vector<std::string> joint_names() {
  std::vector<std::string> names;
  for (const PolicyRow& row : kPolicies)
    if (!row.make_layouts) names.emplace_back(row.name);
  return names;
}

// Finds the rows for a name without guard() and brackets.
Result<Ok> find_rows(std::string_view text, PolicyName& out) {
  const auto plus = text.find('+');
  if (plus != text.npos) {
    const std::string_view name = text.substr(0, plus);
    out.policy = find_row(name, true);
    if (!out.policy)
      return invalid("unknown repartitioner '{}'{}; choose one of {}", name, did_you_mean(name, repartitioner_names()),
                     fmt::join(repartitioner_names(), ", "));
    SMARTMIG_TRY(out.placer, find_placer(text.substr(plus + 1)));
    return Ok{};
  }
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  out.policy = find_row(name, false);
  if (!out.policy && find_row(name, true))
    return invalid("policy '{}' needs a placer, for example {}+cedf", text, name);
  if (!out.policy)
    return invalid("unknown policy '{}'{}; write REPARTITIONER+PLACER, for example static+cedf, or one of {}", text,
                   did_you_mean(name, joint_names()), fmt::join(joint_names(), ", "));
  if (colon == text.npos) return Ok{};
  out.value = std::string(text.substr(colon + 1));
  if (!*out.policy->value_name) return invalid("policy '{}' takes no value after a colon", name);
  if (out.value.empty()) return invalid("policy '{}': the value after the colon is missing", text);
  return Ok{};
}

}  // namespace

std::span<const PolicyParameter> policy_parameters() { return kParameters; }
std::span<const PolicyRow> policies() { return kPolicies; }
std::span<const PlacerRow> placers() { return kPlacers; }

Result<const PlacerRow*> find_placer(std::string_view name) {
  for (const PlacerRow& row : kPlacers)
    if (row.name == name) return &row;
  return invalid("unknown placer '{}'{}; choose one of {}", name, did_you_mean(name, placer_names()),
                 fmt::join(placer_names(), ", "));
}

std::vector<std::string> repartitioner_names() {
  std::vector<std::string> names;
  for (const PolicyRow& row : kPolicies)
    if (row.make_layouts) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> placer_names() {
  std::vector<std::string> names;
  for (const PlacerRow& row : kPlacers) names.emplace_back(row.name);
  return names;
}

Result<PolicyName> parse_policy_name(std::string_view text) {
  PolicyName out;
  std::string_view inner = text;
  if (text.starts_with("guard(")) {
    if (!text.ends_with(")")) return invalid("policy '{}': the bracket after guard is not closed", text);
    out.guarded = true;
    inner = text.substr(6, text.size() - 7);
  }
  out.text = std::string(inner);
  const auto open = inner.find('['), close = inner.find(']');
  if (open != inner.npos && close != inner.npos && close > open) {
    out.has_brackets = true;
    out.in_brackets = std::string(inner.substr(open + 1, close - open - 1));
    out.text = std::string(inner.substr(0, open)) + std::string(inner.substr(close + 1));
  }
  SMARTMIG_RETURN_IF_ERROR(find_rows(out.text, out));
  return out;
}

Result<PolicyOptions> options_of(const PolicyName& name, PolicyOptions options) {
  const PolicyParameter* own = name.policy->parameter;
  if (name.has_brackets) {
    if (!own) return invalid("policy '{}' takes nothing in brackets: it {}", name.text, name.policy->summary);
    options.*own->text = name.in_brackets;
  }
  for (const PolicyParameter& parameter : kParameters)
    if (&parameter != own && !(options.*parameter.text).empty()) {
      if (own)
        return invalid("policy '{}' takes no {}: it has {} {}", name.text, parameter.flag, own->flag, own->value_name);
      return invalid("policy '{}' takes no {}: it {}", name.text, parameter.flag, name.policy->summary);
    }
  return options;
}

PolicyOptions own_parameters(const PolicyName& name, PolicyOptions options) {
  for (const PolicyParameter& parameter : kParameters)
    if (&parameter != name.policy->parameter) (options.*parameter.text).clear();
  return options;
}

PolicyOptions without_parameters(PolicyOptions options) {
  for (const PolicyParameter& parameter : kParameters) (options.*parameter.text).clear();
  return options;
}

std::string policy_help() {
  std::string out = "Policies:\n";
  const auto line = [&](const std::string& name, std::string_view summary) {
    constexpr std::size_t kNameColumns = 18;
    out += name.size() > kNameColumns ? fmt::format("  {}\n{:21}{}\n", name, "", summary)
                                      : fmt::format("  {:<18} {}\n", name, summary);
  };
  for (const PolicyRow& row : kPolicies) {
    std::string name = row.name;
    if (row.make_layouts) name += "+PLACER";
    if (*row.value_name) name += fmt::format("[:{}]", row.value_name);
    std::string summary = row.summary;
    if (row.parameter) summary += fmt::format(" ({})", row.parameter->flag);
    line(name, summary);
  }
  line("guard(POLICY)", "watches a policy and uses a simpler one while that one does better");
  out += "  In a list of policies, write the value of the flag in brackets: static[3]+edf, market[mine.json]\n";
  out += "Placers:\n";
  for (const PlacerRow& row : kPlacers) line(row.name, row.summary);
  return out;
}

}  // namespace smartmig
