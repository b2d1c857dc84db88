#include "research/verbs/show_paper_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/table.h"
#include "report/html_page.h"
#include "report/quote.h"
#include "research/papers/paper_marks.h"

namespace smartmig::cli {
namespace {

bool has_marks(const PaperReport& report) { return !report.sections.empty() && !report.sections[0].mark.empty(); }

// No reason is needed if all values match.
std::string reason_of(const PaperSection& section) { return section.mark == kMarkReproduced ? "" : section.why; }

// "12 reproduced, 9 differs, ..."
std::string count_marks(const PaperReport& report) {
  std::string out;
  for (const char* mark : {kMarkReproduced, kMarkDiffers, kMarkNotPossible, kMarkNotBuilt, kMarkOurs}) {
    int count = 0;
    for (const PaperSection& section : report.sections) count += section.mark == mark;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, mark);
  }
  return out;
}

std::string marks_text(const PaperReport& report) {
  Table table({"figure or table", "paper", "mark", "printed values met"});
  for (const PaperSection& section : report.sections)
    table.add({section.title, section.paper, section.mark, section.met});
  return "\n" + count_marks(report) + "\n" + table.text();
}

nlohmann::ordered_json claims_json(const PaperSection& section) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const PaperClaim& claim : section.claims)
    out.push_back({{"what", claim.what},
                   {"reading", claim.reading},
                   {"printed", claim.printed},
                   {"measured", claim.measured},
                   {"met", is_met(claim)}});
  return out;
}

std::string badge(const PaperSection& section) {
  std::string name = section.mark.substr(0, section.mark.find(' '));
  if (section.mark == kMarkNotBuilt) name = "unbuilt";
  return fmt::format("<span class=\"mark {}\">{}</span>", name, html_escape(section.mark));
}

std::string marks_html(const PaperReport& report) {
  std::string inner =
      "<table class=\"marks\"><thead><tr><th>figure or table</th><th>paper</th><th>mark</th><th>printed values "
      "met</th><th>why</th></tr></thead><tbody>";
  for (const PaperSection& section : report.sections)
    inner += fmt::format("<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                         html_escape(section.name), html_escape(section.title), html_escape(section.paper),
                         badge(section), html_escape(section.met), html_escape(reason_of(section)));
  return html_section("What holds", count_marks(report), inner + "</tbody></table>");
}

// The mark of a section, the reason, and its values one by one.
std::string mark_html(const PaperSection& section) {
  std::string out = fmt::format("<p class=\"note\">{} {}</p>", badge(section), html_escape(reason_of(section)));
  if (section.claims.empty()) return out;
  out += fmt::format(
      "<details><summary>printed values met: {}</summary><table><thead><tr><th>value</th><th>reading</th><th>printed</th>"
      "<th>measured</th><th>met</th></tr></thead><tbody>",
      html_escape(section.met));
  for (const PaperClaim& claim : section.claims)
    out +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{:g}</td><td>{:.4g}</td><td>{}</td></tr>", html_escape(claim.what),
                    html_escape(claim.reading), claim.printed, claim.measured, is_met(claim) ? "yes" : "no");
  return out + "</tbody></table></details>";
}

}  // namespace

std::string paper_text(const PaperReport& report) {
  std::string out;
  if (!report.title.empty()) out += report.title + "\n";
  if (!report.note.empty()) out += report.note + "\n";
  if (has_marks(report)) out += marks_text(report);
  for (const PaperSection& section : report.sections) {
    if (section.apart) out += "\n";
    if (!section.title.empty()) out += section.title + "\n";
    if (!section.note.empty()) out += section.note + "\n";
    if (!section.mark.empty()) {
      const std::string reason = reason_of(section) == section.note ? "" : reason_of(section);
      out += fmt::format("{}{}{}\n", section.mark, reason.empty() ? "" : ": ", reason);
    }
    if (section.header.empty()) continue;
    Table table(section.header);
    for (const auto& row : section.rows) table.add(row);
    out += table.text() + section.below;
  }
  return out + report.closing;
}

std::string paper_json(const PaperReport& report) {
  if (!report.json.is_null()) return json_dump(report.json, 1) + "\n";
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PaperSection& section : report.sections) {
    all.push_back({{"name", section.name}, {"title", section.title}, {"note", section.note}, {"rows", section.json}});
    if (section.mark.empty()) continue;
    all.back().update({{"paper", section.paper},
                       {"mark", section.mark},
                       {"why", reason_of(section)},
                       {"values", claims_json(section)}});
  }
  return json_dump(nlohmann::ordered_json{{"title", report.title}, {"note", report.note}, {"sections", all}}, 1) + "\n";
}

std::string paper_page(const PaperReport& report) {
  const auto paragraph = [](const std::string& text) {
    return text.empty() ? text : "<p class=\"note\">" + html_escape(text) + "</p>";
  };
  const std::string title = report.title.empty() && !report.sections.empty() ? report.sections[0].title : report.title;
  std::string body = "<h1>" + html_escape(title) + "</h1><p class=\"note\">" + html_escape(report.note) + "</p>";
  if (has_marks(report)) body += marks_html(report);
  for (const PaperSection& section : report.sections) {
    if (section.header.empty()) continue;  // a mark without a table: the table of marks shows it
    std::string inner = section.mark.empty() ? "" : mark_html(section);
    if (!section.svg.empty()) inner += "<div style=\"max-width:46rem\">" + section.svg + "</div>";
    inner += "<div class=\"scroll\"><table><thead><tr>";
    for (const std::string& cell : section.header) inner += "<th>" + html_escape(cell) + "</th>";
    inner += "</tr></thead><tbody>";
    for (const auto& row : section.rows) {
      inner += "<tr>";
      for (const std::string& cell : row) inner += "<td>" + html_escape(cell) + "</td>";
      inner += "</tr>";
    }
    inner += "</tbody></table></div>" + paragraph(section.below);
    if (!section.mark.empty()) body += fmt::format("<a id=\"{}\"></a>", html_escape(section.name));
    const bool said = section.note == section.why;  // already shown next to the mark
    body += html_section(section.paper.empty() ? section.title : section.paper + ": " + section.title,
                         said && reason_of(section) != "" && !section.mark.empty() ? "" : section.note, inner);
  }
  return html_page(title, body + paragraph(report.closing));
}

}  // namespace smartmig::cli
