#include "report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "report/html_page.h"
#include "report/name_colours.h"
#include "report/quote.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

struct Column {
  const char* title;
  double PolicyResult::*value;
  int decimals;
};
constexpr Column kColumns[] = {{"energy (kWh)", &PolicyResult::energy_kwh, 3},
                               {"mean tardiness (min)", &PolicyResult::mean_tardiness_min, 4},
                               {"p99 tardiness (min)", &PolicyResult::p99_tardiness_min, 3},
                               {"ET", &PolicyResult::et, 4}};

std::string interval_text(double low, double high) {
  return std::max(low, high) < 300 ? fmt::format("{:+.1f} to {:+.1f} %", low, high)
                                   : fmt::format("{} to {}", change_text(low), change_text(high));
}

std::vector<int> colours_of(const ComparisonPage& c) {
  std::vector<std::string> names;
  for (const PolicyResult& p : c.policies) names.push_back(p.name);
  return smartmig::colours_of(names);
}

std::string table(const ComparisonPage& c, const std::vector<int>& colours) {
  const bool late = std::any_of(c.policies.begin(), c.policies.end(),
                                [](const PolicyResult& p) { return p.late_percent.has_value(); });
  const bool change = std::any_of(c.policies.begin(), c.policies.end(),
                                  [](const PolicyResult& p) { return p.change_percent.has_value(); });
  std::string out = "<div class=\"scroll\"><table><tr><th>policy</th>";
  for (const Column& column : kColumns) out += fmt::format("<th>{}</th>", column.title);
  if (late) out += "<th>late jobs</th>";
  const bool intervals = std::any_of(c.policies.begin(), c.policies.end(),
                                     [](const PolicyResult& p) { return p.change_low && p.change_high; });
  if (change) out += "<th>ET against baseline</th>";
  if (intervals)
    out += fmt::format("<th>interval{}</th>", c.interval.empty() ? "" : " (" + html_escape(c.interval) + ")");
  out += "</tr>";
  for (std::size_t i = 0; i < c.policies.size(); ++i) {
    const PolicyResult& p = c.policies[i];
    out += fmt::format("<tr><td><i class=\"{}\"></i>{}{}</td>", kind_class(colours[i]), html_escape(p.name),
                       p.baseline ? " (baseline)" : "");
    for (const Column& column : kColumns) {
      const bool best = std::all_of(c.policies.begin(), c.policies.end(),
                                    [&](const PolicyResult& other) { return p.*column.value <= other.*column.value; });
      out += fmt::format("<td{}>{:.{}f}</td>", best ? " class=\"best\"" : "", p.*column.value, column.decimals);
    }
    if (late) out += p.late_percent ? fmt::format("<td>{:.1f} %</td>", *p.late_percent) : "<td>–</td>";
    if (change) out += p.change_percent ? fmt::format("<td>{}</td>", change_text(*p.change_percent)) : "<td>–</td>";
    if (intervals)
      out += p.change_low && p.change_high ? fmt::format("<td>{}</td>", interval_text(*p.change_low, *p.change_high))
                                           : "<td>–</td>";
    out += "</tr>";
  }
  if (c.energy_bound_kwh || c.et_bound)
    out += fmt::format(
        "<tr><td>lower bound</td><td>{}</td><td></td><td></td><td>{}</td>{}</tr>",
        c.energy_bound_kwh ? fmt::format("{:.3f}", *c.energy_bound_kwh) : "",
        c.et_bound ? fmt::format("{:.4f}", *c.et_bound) : "",
        std::string(late ? "<td></td>" : "") + (change ? "<td></td>" : "") + (intervals ? "<td></td>" : ""));
  return out + "</table></div>";
}

std::string scatter(const ComparisonPage& c, const std::vector<int>& colours) {
  std::vector<ScatterPoint> points;
  for (std::size_t i = 0; i < c.policies.size(); ++i)
    points.push_back(
        {c.policies[i].energy_kwh, c.policies[i].mean_tardiness_min, c.policies[i].name, kind_class(colours[i])});
  return html_section("Energy against tardiness", "Down and left is better.",
                      scatter_svg(points, "energy (kWh)", "mean tardiness (min)", c.energy_bound_kwh));
}

std::string changes(const ComparisonPage& c, const std::vector<int>& colours) {
  std::vector<Whisker> rows;
  const PolicyResult* baseline = nullptr;
  for (std::size_t i = 0; i < c.policies.size(); ++i) {
    const PolicyResult& p = c.policies[i];
    if (p.baseline) baseline = &p;
    if (p.change_percent)
      rows.push_back({p.name, kind_class(colours[i]), *p.change_percent, p.change_low, p.change_high});
  }
  if (rows.empty()) return {};
  std::optional<double> bound;
  if (c.et_bound && baseline && baseline->et > 0) bound = 100 * (*c.et_bound / baseline->et - 1);
  const std::string note =
      (baseline ? fmt::format("Against {}; left is better.", baseline->name) : std::string("Left is better.")) +
      (c.interval.empty() || !rows[0].low ? "" : fmt::format(" Lines are the interval, {}.", c.interval));
  return html_section("ET against the baseline", note, whisker_svg(rows, "change of ET (%)", bound, "lower bound"));
}

// The canvases for web/plain/compare.js and the numbers that it draws.
std::string multiples(const ComparisonPage& c, const std::vector<int>& colours) {
  Json data = {{"end_s", 0.0}, {"most_w", 0.0}, {"curves", Json::array()}};
  double end = 0, top = 0;
  std::string inner = "<div class=\"multiples\">";
  for (std::size_t i = 0; i < c.policies.size(); ++i) {
    const PolicyResult& p = c.policies[i];
    if (p.power.empty()) continue;
    Json at = Json::array(), watts = Json::array();
    for (const auto& [t, w] : p.power) {
      at.push_back(t);
      watts.push_back(std::round(w * 10) / 10);
      top = std::max(top, w);
    }
    end = std::max(end, p.end_s);
    data["curves"].push_back(
        {{"at_s", std::move(at)}, {"watts", std::move(watts)}, {"end_s", p.end_s}, {"colour", colours[i]}});
    inner += fmt::format(
        "<div><h3>{0}<span>{1:.3f} kWh</span></h3><canvas role=\"img\" aria-label=\"Fleet power under {0}\">"
        "</canvas></div>",
        html_escape(p.name), p.energy_kwh);
  }
  if (top <= 0) return {};
  data["end_s"] = end;
  data["most_w"] = top;
  return html_section("Fleet power over time",
                      "The axes are the same for every policy; time counts from the start of the day.",
                      inner + "</div>") +
         fmt::format("<script type=\"application/json\" id=\"data\">{}</script>", json_dump(data));
}

}  // namespace

std::string compare_report(const ComparisonPage& c) {
  std::string body = fmt::format("<h1>{}</h1>\n", html_escape(c.title)) + html_facts(c.facts);
  const std::vector<int> colours = colours_of(c);
  body += html_section("Policies", c.note, table(c, colours));
  const std::string curves = multiples(c, colours);
  body += "<div class=\"two\">" + scatter(c, colours) + changes(c, colours) + "</div>\n" + curves;
  body += html_footer(c.version, c.command);
  return html_page(c.title, body, curves.empty() ? "save.js" : "words.js draw.js compare.js save.js");
}

}  // namespace smartmig
