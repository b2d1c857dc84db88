#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "bound/certificate_make.h"
#include "cli/progress.h"
#include "cli/simulate/comparison.h"
#include "cli/simulate/recorded_run.h"
#include "cli/simulate/run_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/policy_stack.h"
#include "report/run_dir.h"
#include "report/summary_text.h"

namespace smartmig::cli {
namespace {

struct SimOptions : RunOptions {
  std::string policy = "static+cedf";
  std::string out;
  bool json = false, force = false, report = false, plain = false, journal = false, bound = false;
};

// The layouts of a large fleet would fill pages; the run directory has them all.
std::string shown_layouts(const std::string& all) {
  constexpr std::size_t kMost = 400;
  if (all.size() <= kMost) return all;
  const std::size_t cut = all.rfind(", ", kMost);
  if (cut == all.npos) return all;
  std::size_t more = 0;
  for (auto at = cut; at != all.npos; at = all.find(", ", at + 1)) ++more;
  return fmt::format("{}, and {} more", all.substr(0, cut), more);
}

// gap = value / bound - 1, where there is a positive bound.
std::string gap_json(double value, double bound) { return bound > 0 ? fmt::format("{}", value / bound - 1) : "null"; }

std::string bound_fields(const Summary& s, const ProvenBounds& b) {
  return fmt::format(
      ",\"bound_world\":\"{}\",\"et_bound\":{},\"et_gap\":{},\"energy_bound_wmin\":{},\"energy_gap\":{},\"tardiness_bound_min\":{},"
      "\"tardiness_gap\":{}",
      name_of(b.world), b.et(s.a), gap_json(s.et, b.et(s.a)), b.energy_wmin, gap_json(s.energy_wmin, b.energy_wmin),
      b.tardiness_min, gap_json(s.mean_tardiness_min, b.tardiness_min));
}

std::string bound_table(const Summary& s, const ProvenBounds& b) {
  Table table({b.world == BoundWorld::kFree ? "proven for every policy" : "proven for hardware costs", "this run",
               "lower bound", "gap"});
  const auto add = [&](const char* name, double value, double bound) {
    table.add({name, fmt::format("{:.5g}", value), fmt::format("{:.5g}", bound), gap_text(value, bound)});
  };
  add("ET", s.et, b.et(s.a));
  add("energy, kWh", s.energy_kwh, kilowatt_hours(b.energy_wmin * 60));
  add("mean tardiness, min", s.mean_tardiness_min, b.tardiness_min);
  return table.text();
}

Result<Ok> run_and_print(const SimOptions& options, const Setting& setting, std::shared_ptr<const JobTable> jobs) {
  Contender contender = contender_of(options.policy, options.policy_options());
  contender.options.plain = options.plain;
  const bool keep_journal =
      !options.out.empty() && (options.journal || options.report || setting.platform->gpus() <= kMaxJournalGpus);
  Progress bar(options.policy);
  std::function<void(double)> told;
  if (jobs->size() > 50'000) told = [&bar](double share) { bar.set(share); };
  SMARTMIG_TRY(const auto run, run_recorded(setting, contender, jobs, keep_journal, told));
  const SimResult& result = run->result;
  const Workload& workload = jobs->workload();
  if (result.refused > 0)
    fmt::print(stderr, "smartmig: refused {} illegal actions of the policy; the last: {}\n", result.refused,
               result.last_refusal);
  std::optional<ProvenBounds> bounds;
  RunDirOptions dir{options.force, options.report, {}};
  if (options.bound) {
    Progress bound_bar("bound");
    SMARTMIG_TRY(bounds,
                 proven_bounds(*setting.platform, *jobs, result.summary.a,
                               {1, [&](double share, double) { bound_bar.set(share); }}, bound_world(setting.cost)));
    dir.extras = {kilowatt_hours(bounds->energy_wmin * 60), bounds->et(result.summary.a)};
  }
  if (!options.out.empty()) SMARTMIG_RETURN_IF_ERROR(write_run_dir(options.out, run->record, dir));

  const double rate = result.wall_s > 0 ? double(result.summary.events) / result.wall_s : 0;
  if (options.json) {
    std::string json = "{";
    json += fmt::format("\"policy\":\"{}\",\"cost\":\"{}\",\"workload_hash\":\"{:016x}\"", contender.policy,
                        setting.cost.name(), hash_of(workload));
    if (!setting.estimates.exact()) json += fmt::format(",\"estimates\":\"{}\"", to_string(setting.estimates));
    if (!options.restart.empty()) json += fmt::format(",\"restart\":\"{}\"", options.restart);
    for (const auto& [key, value] : summary_fields(result.summary)) json += fmt::format(",\"{}\":{}", key, value);
    if (bounds) json += bound_fields(result.summary, *bounds);
    json += fmt::format(",\"refused\":{},\"wall_s\":{:.6f},\"events_per_s\":{:.0f}}}\n", result.refused, result.wall_s,
                        rate);
    fmt::print("{}", json);
    return Ok{};
  }
  fmt::print("{} on {}, {} costs{}{}, {}\nlayouts  {}\n\n{}", contender.policy, setting.platform->spec(),
             setting.cost.name(), options.restart.empty() ? "" : ", restart " + options.restart,
             setting.estimates.exact() ? "" : ", estimates " + to_string(setting.estimates), workload.source,
             shown_layouts(run->layouts), summary_text(result.summary));
  if (bounds) fmt::print("\n{}", bound_table(result.summary, *bounds));
  if (!options.out.empty())
    fmt::print("\nwritten to {}{}\n", options.out, options.report ? " (open report.html there)" : "");
  return Ok{};
}

}  // namespace

int run_sim(const Arguments& arguments) {
  SimOptions options;
  Command command("sim", "",
                  "Simulates a workload on a fleet of GPUs under one policy, and prints energy, tardiness and ET.",
                  "smartmig sim -w paper:20x,seed=7 --gpus 8xa100-40gb --policy static+cedf --report -o run1");
  options.declare(command);
  command.heading("Policy");
  command.option("--policy", options.policy, "POLICY", "policy, from the list below");
  options.declare_policy(command);
  options.declare_estimates(command);
  command.option("--output", options.out, "DIR", "write the run directory").alias("-o").also("--out");
  command.flag("--force", options.force, "replace an existing run directory");
  command.flag("--report", options.report, "with -o: also write an HTML page with a Gantt chart, power and tardiness");
  command.flag("--journal", options.journal, "with -o: write journal and trace even for more than 64 GPUs");
  command.flag("--plain", options.plain, "use the plain placer, the reference for the fast one");
  command.flag("--bound", options.bound, "prove lower bounds for this workload and print the gaps (value / bound - 1)");
  command.flag("--json", options.json, "print one JSON object");
  if (const auto end = command.ends(arguments)) return *end;
  if (options.report && options.out.empty()) return usage_error(invalid("--report needs -o DIR"));

  const auto setting = options.setting();
  if (!setting) return usage_error(setting.error());
  const Contender contender = contender_of(options.policy, options.policy_options());
  if (const auto made = PolicyStack::make({contender.policy, contender.options, setting->cost}, setting->platform);
      !made)
    return usage_error(made.error());
  std::error_code ignored;
  if (!options.out.empty() && !options.force && std::filesystem::exists(options.out, ignored))
    return usage_error(invalid("{} exists; choose another directory or add --force", options.out));
  TraceReading reading;
  LoadOptions load = setting->load;
  load.reading = &reading;
  auto workload = load_workload(options.workload, load);
  if (!workload) return failure(workload.error());
  print_warnings(reading);
  if (workload->jobs.empty()) return failure(invalid("{} has no jobs", options.workload));
  auto jobs = JobTable::bind(std::make_shared<Workload>(std::move(*workload)), *setting->platform);
  if (!jobs) return failure(jobs.error());
  const auto done = run_and_print(options, *setting, std::make_shared<JobTable>(std::move(*jobs)));
  return done ? 0 : failure(done.error());
}

}  // namespace smartmig::cli
