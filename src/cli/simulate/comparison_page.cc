#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "cli/simulate/comparison.h"
#include "report/compare_report.h"

namespace smartmig::cli {

ComparisonPage page_of(const Comparison& c, std::string title, std::string note) {
  ComparisonPage page;
  page.title = std::move(title);
  page.note = std::move(note);
  page.facts = {{"workload", c.workload},
                {"GPUs", c.gpus},
                {"costs", c.cost},
                {"power model", c.power},
                {"days", c.days},
                {c.window_days ? "jobs a window" : "jobs a day", fmt::format("{:.0f}", c.jobs)},
                {"a", fmt::format("{:g} per watt-minute", c.a)}};
  if (!c.restart.empty()) page.facts.push_back({"restart", c.restart});
  if (!c.estimates.empty()) page.facts.push_back({"estimates", c.estimates});
  page.interval = c.seeds.size() > 1 ? fmt::format("95 % over {} paired days", c.seeds.size()) : "one day: no interval";
  if (c.bounds) {
    page.energy_bound_kwh = kilowatt_hours(c.bounds->energy_wmin * 60);
    page.et_bound = c.bounds->et(c.a);
  }
  page.version = SMARTMIG_VERSION;
  std::string policies;
  for (const ComparisonRow& row : c.rows) policies += (policies.empty() ? "" : ",") + row.label;
  page.command = fmt::format("smartmig compare -w {} --gpus {} --policies '{}'", c.workload, c.gpus, policies);
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const ComparisonRow& row = c.rows[i];
    PolicyResult result;
    result.name = row.label;
    result.energy_kwh = row.energy_kwh;
    result.mean_tardiness_min = row.tardiness_min;
    result.p99_tardiness_min = row.p99_min;
    result.et = row.et;
    result.late_percent = row.late_percent;
    result.baseline = i == c.baseline;
    if (!result.baseline) {
      const Difference& d = row.et_difference;
      result.change_percent = d.percent;
      if (std::isfinite(d.percent_half_width)) {
        result.change_low = d.percent - d.percent_half_width;
        result.change_high = d.percent + d.percent_half_width;
      }
    }
    page.policies.push_back(std::move(result));
  }
  return page;
}

Result<Ok> write_comparison_page(const std::string& path, const Comparison& comparison, bool force) {
  std::error_code ignored;
  if (!force && std::filesystem::exists(path, ignored))
    return io_error("{} exists; choose another file or add --force", path);
  return write_file(path, compare_report(page_of(comparison, "Policies compared",
                                                 "Every policy saw the same jobs on the same days.")));
}

}  // namespace smartmig::cli
