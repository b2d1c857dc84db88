#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bound/paper_energy.h"
#include "cli/progress.h"
#include "cli/simulate/comparison.h"
#include "cli/simulate/paper_tables.h"
#include "cli/simulate/repro_report.h"
#include "cli/simulate/reproduce_c.h"
#include "cli/simulate/reproduce_fig11.h"
#include "cli/simulate/reproduce_memory.h"
#include "cli/simulate/run_options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "eval/seeds.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Reproduced {
  const PaperTable* printed;
  Comparison ours;
  double bound_wmin = 0;  // mean of the paper's energy bound over the days
};

Result<Reproduced> reproduce_table(const PaperTable& table, const std::vector<std::uint64_t>& seeds, int threads,
                                   Progress& bar) {
  RunOptions options;
  options.workload = table.workload;
  SMARTMIG_TRY(Setting setting, options.setting());
  std::vector<Contender> contenders;
  std::size_t baseline = 0;
  for (const PaperRow& row : table.rows) {
    if (row.policy == "static[1,1,2,3,3,5,5,10]+cedf") baseline = contenders.size();
    contenders.push_back(contender_of(row.policy, {}));
  }
  SMARTMIG_TRY(const auto runs,
               run_paired(setting, contenders, seeds, threads, [&bar](double share) { bar.set(share); }));
  std::vector<Result<double>> bounds(seeds.size(), Result<double>(0.0));
  run_parallel(seeds.size(), threads, [&](std::size_t d) {
    const auto day = make_day(setting, seeds[d]);
    bounds[d] = day ? paper_energy_bound_joules(*setting.platform, *day->jobs) : Result<double>(day.error());
  });
  double bound = 0;
  for (const auto& day : bounds) {
    if (!day) return day.error();
    bound += watt_minutes(*day) / double(seeds.size());
  }
  return Reproduced{&table, make_comparison(setting, contenders, runs, seeds, baseline), bound};
}

double shown_energy(const Reproduced& r, const ComparisonRow& row) {
  return r.printed->energy_above_bound ? 100 * (row.energy_wmin / r.bound_wmin - 1) : row.energy_wmin / 1e6;
}

void print_reproduced(const Reproduced& r) {
  const PaperTable& paper = *r.printed;
  fmt::print("{} ({}; {} days){}{}\n", paper.title, paper.workload, r.ours.seeds.size(), paper.note.empty() ? "" : "; ",
             paper.note);
  const char* unit = paper.energy_above_bound ? "% above bound" : "M Wmin";
  const bool against = paper.rows.size() > 4 || paper.energy_above_bound;
  Table table({"policy", fmt::format("energy {}: paper", unit), "ours", "tardiness min: paper", "ours", "sd", "ET",
               against ? "ET against " + r.ours.rows[r.ours.baseline].label : ""});
  const auto printed = [](const std::optional<double>& value) {
    return value ? fmt::format("{:g}", *value) : std::string("-");
  };
  for (std::size_t i = 0; i < paper.rows.size(); ++i) {
    const ComparisonRow& row = r.ours.rows[i];
    const Difference& d = row.et_difference;
    table.add({row.label, printed(paper.rows[i].energy),
               fmt::format("{:.{}f}", shown_energy(r, row), paper.energy_above_bound ? 1 : 3),
               printed(paper.rows[i].tardiness), fmt::format("{:.3f}", row.tardiness_min),
               fmt::format("{:.2f}", row.tardiness_deviation), fmt::format("{:.3f}", row.et),
               !against               ? ""
               : i == r.ours.baseline ? "baseline"
                                      : fmt::format("{:+.1f} ± {:.1f} %", d.percent, d.percent_half_width)});
  }
  fmt::print("{}", table.text());
  fmt::print("energy bound of the paper (linearised jobs, least preemptive makespan): {:.3f} M Wmin{}\n\n",
             r.bound_wmin / 1e6, paper.name == "20x" ? ", printed 1.995" : "");
}

OrderedJson reproduced_json(const Reproduced& r) {
  const PaperTable& paper = *r.printed;
  OrderedJson rows = OrderedJson::array();
  for (std::size_t i = 0; i < paper.rows.size(); ++i) {
    const ComparisonRow& row = r.ours.rows[i];
    const auto printed = [](const std::optional<double>& value) {
      return value ? OrderedJson(*value) : OrderedJson(nullptr);
    };
    rows.push_back({{"policy", row.label},
                    {"printed_energy", printed(paper.rows[i].energy)},
                    {"energy", shown_energy(r, row)},
                    {"printed_tardiness_min", printed(paper.rows[i].tardiness)},
                    {"mean_tardiness_min", row.tardiness_min},
                    {"tardiness_deviation_min", row.tardiness_deviation},
                    {"energy_wmin", row.energy_wmin},
                    {"et", row.et},
                    {"et_percent", row.et_difference.percent},
                    {"et_percent_half_width_95", row.et_difference.percent_half_width}});
  }
  return {{"table", paper.name},
          {"title", paper.title},
          {"workload", paper.workload},
          {"note", paper.note},
          {"energy_unit", paper.energy_above_bound ? "percent above bound" : "M watt-minutes"},
          {"energy_bound_wmin", r.bound_wmin},
          {"rows", rows}};
}

}  // namespace

int run_reproduce(const Arguments& arguments) {
  std::string what, only;
  std::int64_t days = 30, cases = 60, threads = default_threads();
  bool json = false;
  Fig11Options fig11;
  ReproOptions repro;
  MigmOptions migm;
  Command command("reproduce", "a|b|c|a-static|a-fig11|bounds-tiny|memory",
                  "Prints what the papers print beside what we measure on report days. a: every table and figure of "
                  "SMART-MIG; b: one GPU through a day; c: MIGM's batches of unknown memory, through the daemon "
                  "on emulated A100s; a-static: static partitions only; a-fig11: the tardiness bound "
                  "of Fig. 11; bounds-tiny: how tight the bounds are where the optimum is known; memory: foreseeing "
                  "that a job will not "
                  "fit its slice.",
                  "smartmig reproduce a --days 30 --html a.html");
  command.positional(what);
  command.option("--days", days, "N", "report seeds from 200000 on");
  command.option("--table", only, "NAME", "one table only: 20x, 16x, 12x, fig6, fig7, fig8, fig9, fig10");
  command.option("--repetitions", fig11.repetitions, "N", "a-fig11: report seeds from 200000 on");
  command.option("--slot", fig11.slot_min, "MIN", "a-fig11: minutes of a slot of the program");
  command.option("--time-limit", fig11.time_limit_s, "S",
                 "a-fig11: seconds of cuts and branching for each instance and bound, after the linear relaxation");
  command.option("--bound-days", repro.bound_days, "N", "a: prove the ET bound of so many days and print the gaps");
  command.option("--cases", cases, "N", "memory: jobs of each family of curves");
  command.option("--gpus", migm.gpus, "FLEET", "c: A100s, for example 2xa100-40gb");
  command.option("--batch", migm.batch, "NAME", "c: one batch or group only: general, ml, llm, ...");
  command.option("--batches", migm.batches, "N", "c: batches of each kind");
  command.option("--first-seed", migm.first_seed, "S", "c: seed of the first batch");
  command.option("--batch-jobs", migm.jobs, "N", "c: jobs of a batch");
  command.option("--html", repro.html, "FILE", "a, b: write everything as one page");
  command.flag("--force", repro.force, "replace an existing page");
  command.option("--jobs", threads, "N", "days run at once").alias("-j");
  command.flag("--json", json, "print one JSON object");
  const auto parsed = command.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (what != "a" && what != "b" && what != "c" && what != "a-static" && what != "a-fig11" && what != "bounds-tiny" &&
      what != "memory")
    return usage_error(invalid("'{}' is not known: a, b, c, a-static, a-fig11, bounds-tiny, memory", what));
  if (days < 2 || days > 10'000 || threads < 1 || threads > 1024)
    return usage_error(invalid("--days 2 to 10000, -j 1 to 1024"));
  if (what == "a" || what == "b") {
    std::error_code ignored;
    if (!repro.html.empty() && !repro.force && std::filesystem::exists(repro.html, ignored))
      return usage_error(invalid("{} exists already: choose another file or add --force", repro.html));
    repro.days = days;
    repro.threads = threads;
    repro.json = json;
    return what == "a" ? reproduce_a(repro) : reproduce_b(repro);
  }
  if (what == "c") {
    if (migm.batches < 1 || migm.batches > 1000 || migm.jobs < 1 || migm.jobs > 1000)
      return usage_error(invalid("--batches 1 to 1000, --batch-jobs 1 to 1000"));
    migm.json = json;
    return reproduce_c(migm);
  }
  if (what == "bounds-tiny") return reproduce_bounds_tiny(json, int(threads));
  if (what == "memory") {
    if (cases < 1 || cases > 100'000) return usage_error(invalid("--cases 1 to 100000"));
    return reproduce_memory({cases, int(threads), json});
  }
  if (what == "a-fig11") {
    if (fig11.repetitions < 1 || fig11.repetitions > 10'000 || fig11.slot_min < 0.01 || fig11.slot_min > 60 ||
        fig11.time_limit_s < 0)
      return usage_error(invalid("--repetitions 1 to 10000, --slot 0.01 to 60 minutes, --time-limit at least 0"));
    fig11.threads = int(threads);
    fig11.json = json;
    return reproduce_fig11(fig11);
  }
  OrderedJson all = OrderedJson::array();
  bool found = false;
  for (const PaperTable& table : paper_static_tables()) {
    if (!only.empty() && table.name != only) continue;
    found = true;
    Progress bar(table.title);
    const auto done = reproduce_table(table, seeds_from(kFirstReportSeed, std::size_t(days)), int(threads), bar);
    if (!done) return failure(done.error());
    if (json)
      all.push_back(reproduced_json(*done));
    else
      print_reproduced(*done);
  }
  if (!found)
    return usage_error(invalid("table '{}' is not known: 20x, 16x, 12x, fig6, fig7, fig8, fig9, fig10", only));
  if (json)
    fmt::print(
        "{}\n",
        OrderedJson{{"seeds", {kFirstReportSeed, kFirstReportSeed + std::uint64_t(days) - 1}}, {"tables", all}}.dump(
            1));
  return 0;
}

}  // namespace smartmig::cli
