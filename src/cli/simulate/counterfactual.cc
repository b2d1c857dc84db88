#include "cli/simulate/counterfactual.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/queue/daemon_options.h"
#include "cli/simulate/comparison.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "queue/config/settings.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct ReplayRow {
  std::string label;
  Summary summary;
};

double cost_of(const Summary& s, const EnergyPrices& prices) {
  return prices.cost(s.energy_joules, s.mean_tardiness_min * 60 * double(s.jobs));
}

OrderedJson replay_json(const ReplayRow& row, const std::optional<EnergyPrices>& prices) {
  const Summary& s = row.summary;
  OrderedJson out{
      {"policy", row.label},         {"energy_kwh", s.energy_kwh},     {"mean_tardiness_min", s.mean_tardiness_min},
      {"late_jobs", s.late_jobs},    {"makespan_min", s.makespan_min}, {"repartitions", s.repartitions},
      {"preemptions", s.preemptions}};
  if (prices) out["cost"] = cost_of(s, *prices);
  return out;
}

OrderedJson replay_json(const ReplayFidelity& f) {
  return {{"finish_mean_s", f.mean_s},
          {"finish_p90_s", f.p90_s},
          {"finish_mean_of_turnaround", f.finish.mean},
          {"finish_p90_of_turnaround", f.finish.p90},
          {"job_energy_mean", f.energy.mean},
          {"job_energy_p90", f.energy.p90},
          {"fleet_energy", f.total_energy}};
}

std::string replay_text(const std::vector<ReplayRow>& rows, const std::optional<EnergyPrices>& prices) {
  std::vector<std::string> header{"policy",    "energy kWh",   "against recorded", "lateness min",
                                  "late jobs", "makespan min", "changes"};
  if (prices) header.push_back("cost");
  Table table(header);
  const double recorded = rows[0].summary.energy_joules;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Summary& s = rows[i].summary;
    std::vector<std::string> cells{
        rows[i].label,
        fmt::format("{:.4f}", s.energy_kwh),
        i == 0 || recorded <= 0 ? "" : fmt::format("{:+.1f} %", 100 * (s.energy_joules / recorded - 1)),
        fmt::format("{:.3f}", s.mean_tardiness_min),
        fmt::format("{}", s.late_jobs),
        fmt::format("{:.2f}", s.makespan_min),
        fmt::format("{}", s.repartitions)};
    if (prices) cells.push_back(fmt::format("{:.2f}", cost_of(s, *prices)));
    table.add(std::move(cells));
  }
  return table.text();
}

void add_fidelity(Table& table, const char* label, const ReplayFidelity& f) {
  table.add({label, fmt::format("{:.1f} s", f.mean_s), fmt::format("{:.1f} s", f.p90_s),
             fmt::format("{:.2f} %", 100 * f.finish.mean), fmt::format("{:.2f} %", 100 * f.finish.p90),
             fmt::format("{:.2f} %", 100 * f.energy.mean), fmt::format("{:.2f} %", 100 * f.energy.p90),
             fmt::format("{:+.2f} %", 100 * f.total_energy)});
}

// Notes are written when a job ends, up to a sample of the board before its last joules: they say enough of long jobs.
std::map<std::string, double> of_long_jobs(const ReplayedRun& run, std::map<std::string, double> joules) {
  constexpr Time kLong{60'000'000};
  const Workload& workload = run.record.jobs->workload();
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    const JobState& state = run.final.states()[j];
    if (state.phase == JobPhase::kDone && state.finish - state.first_start < kLong) joules.erase(workload.name_of(j));
  }
  return joules;
}

}  // namespace

Result<std::map<std::string, double>> read_job_joules(const std::string& path) {
  SMARTMIG_TRY(const std::string text, read_file(path));
  const auto json = parse_json(path, text);
  if (!json || !json->is_object() || !json->contains("jobs") || !(*json)["jobs"].is_array())
    return invalid("{} has no list of jobs; write it with smartmig queue --all --json", path);
  std::map<std::string, double> out;
  for (const auto& job : (*json)["jobs"]) {
    const auto energy = job_joules(job);
    if (!energy || !is_final(job)) continue;
    const std::uint64_t array = id_at(job, "array_id");
    out[array ? fmt::format("{}_{}", array, id_at(job, "array_index")) : std::to_string(id_at(job, "id"))] = *energy;
  }
  return out;
}

int print_counterfactual(const ReplayedRun& run, const std::map<std::string, double>& noted_joules,
                         const CounterfactualOptions& options) {
  const RunRecord& record = run.record;
  std::map<std::string, double> measured_joules = of_long_jobs(run, noted_joules);
  if (!options.jobs.empty()) {
    auto read = read_job_joules(options.jobs);
    if (!read) return failure(read.error());
    measured_joules = std::move(*read);
  }
  const auto day =
      recorded_day(record.platform, *record.jobs, record.cost, record.initial, record.summary.a, run.events, run.final);
  if (!day) return failure(day.error());
  RecordedDay other = *day;  // as it would be under the costs asked for
  if (!options.cost.empty()) {
    const auto cost = CostModel::parse(options.cost);
    if (!cost) return usage_error(cost.error());
    other.cost = *cost;
  }
  ReplayOptions with;
  const bool live = !record.config_value("world").empty();
  if (options.prices && options.prices->weight() > 0)
    with.w = options.prices->weight();
  else if (live)
    with.w = kPaperWeight;
  const std::string policy = record.config_value("policy");
  std::vector<ReplayRow> rows{{"recorded", day->recorded}};
  if (!policy.empty()) rows[0].label += ": " + policy;
  for (const std::string& name : split_policies(options.policies)) {
    const auto parsed = parse_policy_name(name);
    if (!parsed) return usage_error(parsed.error());
    with.policy = own_parameters(*parsed, options.parameters);
    const auto result = live_again(other, other.measured, name, with);
    if (!result) return failure(result.error());
    rows.push_back({name, result->summary});
  }

  std::optional<ReplayFidelity> measured, expected;
  std::string why = "the journal names no policy";
  if (!policy.empty()) {
    ReplayOptions same = with;
    same.recorded_layouts = true;
    const auto name = parse_policy_name(policy);
    const PolicyOptions given = name ? own_parameters(*name, options.parameters) : options.parameters;
    same.policy = given;
    if (name && given.layouts.empty() && *name->policy->default_layouts)
      same.policy.layouts = record.config_value("layouts");
    auto as_measured = live_again(*day, day->measured, policy, same);
    if (!as_measured && same.policy.layouts != given.layouts) {
      same.policy = given;
      as_measured = live_again(*day, day->measured, policy, same);
    }
    const auto as_expected = live_again(*day, day->expected, policy, same);
    if (as_measured && as_expected) {
      measured = fidelity_of(*day, *as_measured, measured_joules);
      expected = fidelity_of(*day, *as_expected, measured_joules);
    } else {
      why = (as_measured ? as_expected.error() : as_measured.error()).what;
    }
  }
  std::size_t metered = 0;
  for (std::size_t i = 0; i < day->finish.size(); ++i)
    metered += measured_joules.count(day->measured->workload().name_of(i));

  if (options.json) {
    OrderedJson out{{"gpus", record.platform->spec()}, {"cost", other.cost.name()}, {"jobs", day->finish.size()},
                    {"left_out", day->left_out},       {"returned", day->returned}, {"metered_jobs", metered}};
    for (const ReplayRow& row : rows) out["policies"].push_back(replay_json(row, options.prices));
    out["fidelity"] = measured ? OrderedJson{{"policy", policy},
                                             {"times_measured", replay_json(*measured)},
                                             {"times_expected", replay_json(*expected)}}
                               : OrderedJson{{"why_not", why}};
    fmt::print("{}\n", json_dump(out, 1));
    return 0;
  }
  fmt::print("{}: {} jobs on {}, {} costs, power {}\n", options.title, day->finish.size(), record.platform->spec(),
             other.cost.name(), record.platform->models()[0].power.name());
  if (day->left_out > 0) fmt::print("{} jobs did not finish in the record and are left out\n", day->left_out);
  if (day->returned > 0)
    fmt::print(
        "{} jobs were withdrawn and submitted again: they count from their first arrival, with "
        "the run time of the last\n",
        day->returned);
  fmt::print("\n{}", replay_text(rows, options.prices));
  if (!measured) {
    fmt::print("\nNo fidelity report: {}\n", why);
    return 0;
  }
  fmt::print(
      "\nFidelity: {} simulated, compared with the record (error of finish times, also as a "
      "share of turnaround; error of joules{})\n\n",
      policy, metered ? fmt::format(", measured for {} jobs", metered) : ", as the power model reads the record");
  Table table({"run times", "finish mean", "p90", "of turnaround", "p90", "job joules", "p90", "fleet energy"});
  add_fidelity(table, "as measured", *measured);
  add_fidelity(table, "as expected at arrival", *expected);
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace smartmig::cli
