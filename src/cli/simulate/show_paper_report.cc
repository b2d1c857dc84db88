#include "cli/simulate/show_paper_report.h"

#include "base/json.h"
#include "cli/table.h"
#include "report/html_page.h"
#include "report/quote.h"

namespace smartmig::cli {

std::string paper_text(const PaperReport& report) {
  std::string out;
  if (!report.title.empty()) out += report.title + "\n";
  if (!report.note.empty()) out += report.note + "\n";
  for (const PaperSection& section : report.sections) {
    if (section.apart) out += "\n";
    if (!section.title.empty()) out += section.title + "\n";
    if (!section.note.empty()) out += section.note + "\n";
    Table table(section.header);
    for (const auto& row : section.rows) table.add(row);
    out += table.text() + section.below;
  }
  return out + report.closing;
}

std::string paper_json(const PaperReport& report) {
  if (!report.json.is_null()) return json_dump(report.json, 1) + "\n";
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PaperSection& section : report.sections)
    all.push_back({{"name", section.name}, {"title", section.title}, {"note", section.note}, {"rows", section.json}});
  return json_dump(nlohmann::ordered_json{{"title", report.title}, {"note", report.note}, {"sections", all}}, 1) + "\n";
}

std::string paper_page(const PaperReport& report) {
  const auto paragraph = [](const std::string& text) {
    return text.empty() ? text : "<p class=\"note\">" + html_escape(text) + "</p>";
  };
  const std::string title = report.title.empty() && !report.sections.empty() ? report.sections[0].title : report.title;
  std::string body = "<h1>" + html_escape(title) + "</h1><p class=\"note\">" + html_escape(report.note) + "</p>";
  for (const PaperSection& section : report.sections) {
    std::string inner = section.svg + "<table><thead><tr>";
    for (const std::string& cell : section.header) inner += "<th>" + html_escape(cell) + "</th>";
    inner += "</tr></thead><tbody>";
    for (const auto& row : section.rows) {
      inner += "<tr>";
      for (const std::string& cell : row) inner += "<td>" + html_escape(cell) + "</td>";
      inner += "</tr>";
    }
    inner += "</tbody></table>" + paragraph(section.below);
    body += html_section(section.title, section.note, inner);
  }
  return html_page(title, body + paragraph(report.closing));
}

}  // namespace smartmig::cli
