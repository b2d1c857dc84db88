#include "cli/simulate/comparison.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "cli/table.h"

namespace smartmig::cli {

using OrderedJson = nlohmann::ordered_json;

std::vector<std::string> split_policies(std::string_view text) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  return names;
}

std::string signed_percent(const Difference& d) {
  if (!std::isfinite(d.percent_half_width)) return fmt::format("{:+.1f} %", d.percent);
  return fmt::format("{:+.1f} ± {:.1f} %", d.percent, d.percent_half_width);
}

std::string comparison_text(const Comparison& c) {
  std::string out = fmt::format(
      "{} on {}, {} costs{}{}, power {}, {}, {:.0f} jobs a {}\nET = (a e + t)/(a + 1), a = {:g} per "
      "watt-minute; e in watt-minutes, t in minutes\n\n",
      c.workload, c.gpus, c.cost, c.restart.empty() ? "" : ", restart " + c.restart,
      c.estimates.empty() ? "" : ", estimates " + c.estimates, c.power, c.days, c.jobs,
      c.window_days ? "window" : "day", c.a);
  std::vector<std::string> header{"policy",        "energy kWh", "M Wmin",
                                  "tardiness min", "p99 min",    "late",
                                  "to end min",    "ET",         "ET against " + c.rows[c.baseline].label + " (95 %)"};
  if (c.bounds) header.insert(header.end(), {"ET gap", "energy gap", "tardiness gap"});
  Table table(header);
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const ComparisonRow& row = c.rows[i];
    std::vector<std::string> cells{row.label,
                                   fmt::format("{:.2f}", row.energy_kwh),
                                   fmt::format("{:.3f}", row.energy_wmin / 1e6),
                                   fmt::format("{:.3f}", row.tardiness_min),
                                   fmt::format("{:.2f}", row.p99_min),
                                   fmt::format("{:.1f} %", row.late_percent),
                                   fmt::format("{:.3f}", row.turnaround_min),
                                   fmt::format("{:.3f}", row.et),
                                   i == c.baseline ? "baseline" : signed_percent(row.et_difference)};
    if (c.bounds)
      cells.insert(cells.end(), {gap_text(row.et, c.bounds->et(c.a)), gap_text(row.energy_wmin, c.bounds->energy_wmin),
                                 gap_text(row.tardiness_min, c.bounds->tardiness_min)});
    table.add(std::move(cells));
  }
  out += table.text();
  if (c.bounds)
    out += fmt::format(
        "\nproven lower bounds{}, means over the days: ET {:.4f}, energy {:.2f} kWh ({:.3f} M "
        "Wmin), tardiness {:.4f} min; gap = value/bound - 1\n",
        c.bounds->world == BoundWorld::kFree ? "" : " for hardware costs", c.bounds->et(c.a),
        kilowatt_hours(c.bounds->energy_wmin * 60), c.bounds->energy_wmin / 1e6, c.bounds->tardiness_min);
  return out;
}

std::string comparison_json(const Comparison& c) {
  const auto number = [](double v) { return std::isfinite(v) ? OrderedJson(v) : OrderedJson(nullptr); };
  const auto difference = [&](const Difference& d) {
    return OrderedJson{{"mean", d.mean},
                       {"half_width_95", number(d.half_width)},
                       {"percent", d.percent},
                       {"percent_half_width_95", number(d.percent_half_width)}};
  };
  const bool windows = c.window_days.has_value();
  OrderedJson json{{"workload", c.workload},
                   {"gpus", c.gpus},
                   {"cost", c.cost},
                   {"power", c.power},
                   {"a", c.a},
                   {"a_eff", c.a_eff},
                   {windows ? "windows" : "seeds", c.seeds},
                   {windows ? "jobs_per_window" : "jobs_per_day", c.jobs},
                   {"baseline", c.rows[c.baseline].label}};
  if (windows) json["window_days"] = *c.window_days;
  if (!c.restart.empty()) json["restart"] = c.restart;
  if (!c.estimates.empty()) json["estimates"] = c.estimates;
  if (c.bounds)
    json["bounds"] = {{"world", name_of(c.bounds->world)},
                      {"et", c.bounds->et(c.a)},
                      {"energy_wmin", c.bounds->energy_wmin},
                      {"mean_tardiness_min", c.bounds->tardiness_min}};
  const auto gap = [](double value, double bound) {
    return bound > 0 ? OrderedJson(value / bound - 1) : OrderedJson(nullptr);
  };
  OrderedJson rows = OrderedJson::array();
  for (const ComparisonRow& row : c.rows) {
    rows.push_back({{"policy", row.label},
                    {"energy_j", row.energy_wmin * 60},
                    {"energy_wmin", row.energy_wmin},
                    {"energy_kwh", row.energy_kwh},
                    {"mean_tardiness_min", row.tardiness_min},
                    {"tardiness_deviation_min", row.tardiness_deviation},
                    {"p99_tardiness_min", row.p99_min},
                    {"late_percent", row.late_percent},
                    {"mean_wait_min", row.wait_min},
                    {"mean_turnaround_min", row.turnaround_min},
                    {"et", row.et},
                    {"preemptions", row.preemptions},
                    {"repartitions", row.repartitions},
                    {"et_difference", difference(row.et_difference)},
                    {"energy_difference", difference(row.energy_difference)},
                    {"tardiness_difference", difference(row.tardiness_difference)}});
    if (!c.bounds) continue;
    rows.back()["et_gap"] = gap(row.et, c.bounds->et(c.a));
    rows.back()["energy_gap"] = gap(row.energy_wmin, c.bounds->energy_wmin);
    rows.back()["tardiness_gap"] = gap(row.tardiness_min, c.bounds->tardiness_min);
  }
  json["policies"] = std::move(rows);
  return json_dump(json, 1);
}

}  // namespace smartmig::cli
