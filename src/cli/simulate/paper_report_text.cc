#include "cli/simulate/repro_report.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "report/html_page.h"
#include "report/quote.h"

namespace smartmig::cli {

std::string ReproReport::text() const {
  std::string out = title_ + "\n" + note_ + "\n";
  for (const ReproSection& section : sections_) {
    out += "\n" + section.title + "\n";
    if (!section.note.empty()) out += section.note + "\n";
    Table table(section.header);
    for (const auto& row : section.rows) table.add(row);
    out += table.text();
  }
  return out;
}

std::string ReproReport::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ReproSection& section : sections_)
    all.push_back({{"name", section.name}, {"title", section.title}, {"note", section.note}, {"rows", section.json}});
  return nlohmann::ordered_json{{"title", title_}, {"note", note_}, {"sections", all}}.dump(1) + "\n";
}

std::string ReproReport::html() const {
  std::string body = "<h1>" + html_escape(title_) + "</h1><p class=\"note\">" + html_escape(note_) + "</p>";
  for (const ReproSection& section : sections_) {
    std::string inner = section.svg + "<table><thead><tr>";
    for (const std::string& cell : section.header) inner += "<th>" + html_escape(cell) + "</th>";
    inner += "</tr></thead><tbody>";
    for (const auto& row : section.rows) {
      inner += "<tr>";
      for (const std::string& cell : row) inner += "<td>" + html_escape(cell) + "</td>";
      inner += "</tr>";
    }
    inner += "</tbody></table>";
    body += html_section(section.title, section.note, inner);
  }
  return html_page(title_, body);
}

int show(const ReproReport& report, const ReproOptions& options) {
  fmt::print("{}", options.json ? report.json() : report.text());
  if (options.html.empty()) return 0;
  if (const auto written = write_file(options.html, report.html()); !written) return failure(written.error());
  fmt::print(stderr, "page: {}\n", options.html);
  return 0;
}

}  // namespace smartmig::cli
