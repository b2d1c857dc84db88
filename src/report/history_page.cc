#include "report/history_page.h"

#include <fmt/format.h>

#include "report/name_colours.h"
#include "report/quote.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

std::string gap_cell(const std::optional<double>& gap) {
  return gap ? fmt::format("<td>{:.1f} %</td>", 100 * *gap) : "<td>–</td>";
}

std::vector<int> colours_of(const HistoryPage& page) {
  std::vector<std::string> names;
  for (const HistoryPage::Policy& p : page.policies) names.push_back(p.name);
  return smartmig::colours_of(names);
}

std::string policies_table(const HistoryPage& page) {
  const std::vector<int> colours = colours_of(page);
  const bool bounds = page.energy_bound_kwh.has_value(), sizes = !page.gpus_note.empty();
  std::string out =
      "<div class=\"scroll\"><table><tr><th>policy</th><th>energy (kWh)</th><th>against the first</th>"
      "<th>mean delay (min)</th><th>p99 delay (min)</th><th>mean wait (min)</th>";
  if (bounds) out += "<th>energy above bound</th><th>delay above bound</th>";
  if (sizes) out += "<th>GPUs needed</th>";
  out += "</tr>";
  for (std::size_t i = 0; i < page.policies.size(); ++i) {
    const HistoryPage::Policy& p = page.policies[i];
    out += fmt::format("<tr><td><i class=\"{}\"></i>{}</td><td>{:.2f}</td><td>{}</td>", kind_class(colours[i]),
                       html_escape(p.name), p.energy_kwh,
                       i == 0 ? std::string("–") : fmt::format("{:+.1f} %", 100 * p.energy_change));
    out += fmt::format("<td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td>", p.delay_min, p.p99_delay_min, p.wait_min);
    if (bounds) out += gap_cell(p.energy_gap) + gap_cell(p.delay_gap);
    if (sizes) out += fmt::format("<td>{}</td>", html_escape(p.gpus_needed));
    out += "</tr>";
  }
  if (bounds)
    out += fmt::format("<tr><td>no schedule is below</td><td>{:.2f}</td><td></td><td>{:.2f}</td>{}{}</tr>",
                       *page.energy_bound_kwh, page.delay_bound_min.value_or(0), "<td></td><td></td><td></td><td></td>",
                       sizes ? "<td></td>" : "");
  return out + "</table></div>";
}

}  // namespace

std::string history_page(const HistoryPage& page) {
  std::string body = fmt::format("<h1>{}</h1>\n", html_escape(page.title)) + html_facts(page.facts);
  body += html_cards(page.cards);
  body +=
      html_section("Policies", page.note + (page.gpus_note.empty() ? "" : " " + page.gpus_note), policies_table(page));
  const std::vector<int> colours = colours_of(page);
  std::vector<ScatterPoint> points;
  for (std::size_t i = 0; i < page.policies.size(); ++i)
    points.push_back(
        {page.policies[i].energy_kwh, page.policies[i].delay_min, page.policies[i].name, kind_class(colours[i])});
  body += html_section("Energy against delay", "Down and left is better. The line is the proven bound.",
                       scatter_svg(points, "energy (kWh)", "mean delay (min)", page.energy_bound_kwh));
  std::string list = "<ul>";
  for (const std::string& rule : page.assumed) list += fmt::format("<li>{}</li>", html_escape(rule));
  body += html_section("Assumptions", "Slurm's accounts have no data for these.", list + "</ul>");
  body += html_footer(page.version, page.command);
  return html_page(page.title, body, "save.js");
}

}  // namespace smartmig
