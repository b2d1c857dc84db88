#include "research/papers/smart_mig_static.h"

#include <fmt/format.h>

#include "eval/comparison.h"
#include "eval/seeds.h"
#include "research/bounds/paper_energy.h"
#include "research/papers/paper_setting.h"
#include "research/papers/smart_mig_placers.h"
#include "research/papers/smart_mig_printed.h"

namespace smartmig {
namespace {

struct Reproduced {
  const PaperTable* printed;
  Comparison ours;
  double bound_wmin = 0;  // mean of the paper's energy bound over the days
};

Result<Reproduced> reproduce_table(const PaperTable& table, const std::vector<std::uint64_t>& seeds, int threads,
                                   const PaperProgress& progress) {
  SMARTMIG_TRY(const Setting setting, paper_setting(table.workload));
  std::vector<Contender> contenders;
  std::size_t baseline = 0;
  for (const PaperRow& row : table.rows) {
    if (row.policy == "static[1,1,2,3,3,5,5,10]+cedf") baseline = contenders.size();
    contenders.push_back(contender_of(row.policy, {}));
  }
  SMARTMIG_TRY(const auto runs,
               run_paired(setting, contenders, seeds, threads, [&](double share) { progress(table.title, share); }));
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

PaperSection section_of(const Reproduced& r) {
  const PaperTable& paper = *r.printed;
  PaperSection section;
  section.name = paper.name;
  section.title = fmt::format("{} ({}; {} days)", paper.title, paper.workload, r.ours.seeds.size());
  section.apart = false;
  const bool against = paper.rows.size() > 4;
  section.header = {"policy", "energy M Wmin: paper",
                    "ours",   "tardiness min: paper",
                    "ours",   "sd",
                    "ET",     against ? "ET against " + r.ours.rows[r.ours.baseline].label : ""};
  const auto printed = [](const std::optional<double>& value) {
    return value ? fmt::format("{:g}", *value) : std::string("-");
  };
  for (std::size_t i = 0; i < paper.rows.size(); ++i) {
    const ComparisonRow& row = r.ours.rows[i];
    const Difference& d = row.et_difference;
    std::string difference;
    if (against)
      difference =
          i == r.ours.baseline ? "baseline" : fmt::format("{:+.1f} ± {:.1f} %", d.percent, d.percent_half_width);
    section.rows.push_back({row.label, printed(paper.rows[i].energy), fmt::format("{:.3f}", row.energy_wmin / 1e6),
                            printed(paper.rows[i].tardiness), fmt::format("{:.3f}", row.tardiness_min),
                            fmt::format("{:.2f}", row.tardiness_deviation), fmt::format("{:.3f}", row.et),
                            std::move(difference)});
  }
  section.below =
      fmt::format("energy bound of the paper (linearised jobs, least preemptive makespan): {:.3f} M Wmin{}\n\n",
                  r.bound_wmin / 1e6, paper.name == "20x" ? ", printed 1.995" : "");
  return section;
}

nlohmann::ordered_json reproduced_json(const Reproduced& r) {
  const PaperTable& paper = *r.printed;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < paper.rows.size(); ++i) {
    const ComparisonRow& row = r.ours.rows[i];
    const auto printed = [](const std::optional<double>& value) {
      return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
    };
    rows.push_back({{"policy", row.label},
                    {"printed_energy", printed(paper.rows[i].energy)},
                    {"energy", row.energy_wmin / 1e6},
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
          {"energy_unit", "M watt-minutes"},
          {"energy_bound_wmin", r.bound_wmin},
          {"rows", rows}};
}

bool is_wanted(const std::string& table, const StaticTablesOptions& options) {
  return options.table.empty() || table == options.table;
}

std::vector<std::string> all_tables() {
  std::vector<std::string> names;
  for (const PaperTable& table : paper_static_tables()) names.push_back(table.name);
  for (std::string& figure : placer_figures()) names.push_back(std::move(figure));
  return names;
}

}  // namespace

Result<Ok> check_options(const StaticTablesOptions& options) {
  const auto names = all_tables();
  for (const std::string& name : names)
    if (is_wanted(name, options)) return Ok{};
  return invalid("unknown table '{}'; choose one of {}", options.table, fmt::join(names, ", "));
}

Result<PaperReport> static_tables_report(const StaticTablesOptions& options, const PaperProgress& progress) {
  SMARTMIG_RETURN_IF_ERROR(check_options(options));
  PaperReport report;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  const auto seeds = seeds_from(kFirstReportSeed, std::size_t(options.days));
  for (const PaperTable& table : paper_static_tables()) {
    if (!is_wanted(table.name, options)) continue;
    SMARTMIG_TRY(const Reproduced done, reproduce_table(table, seeds, options.threads, progress));
    report.sections.push_back(section_of(done));
    all.push_back(reproduced_json(done));
  }
  for (const std::string& figure : placer_figures()) {
    if (!is_wanted(figure, options)) continue;
    SMARTMIG_TRY(PaperSection section, placer_section(figure, {options.days, 0, options.threads}, progress));
    all.push_back({{"table", section.name}, {"title", section.title}, {"note", section.note}, {"rows", section.json}});
    section.apart = !report.sections.empty();
    report.sections.push_back(std::move(section));
  }
  report.json = {{"seeds", {kFirstReportSeed, kFirstReportSeed + std::uint64_t(options.days) - 1}}, {"tables", all}};
  return report;
}

}  // namespace smartmig
