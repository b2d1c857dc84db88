#include "report/html_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/text.h"
#include "report/quote.h"

namespace smartmig {
namespace {

// The colours that reports and the browser page share (data/palette.json).
std::string palette_style() {
  const auto palette = nlohmann::json::parse(embedded_file("palette.json"));
  const auto colours = [&](const char* scheme) {
    std::string out;
    for (const auto& [name, value] : palette.at(scheme).items())
      out += fmt::format("--{}:{};", name, value.get<std::string>());
    return out;
  };
  return fmt::format("\n:root{{color-scheme:light dark;{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}",
                     colours("light"), colours("dark"));
}

// Joins files of web/plain. Drops their import lines, since the imported files come first.
std::string joined(std::string_view scripts) {
  std::string out;
  for (const std::string_view name : split(scripts, ' '))
    for (const std::string_view line : split(embedded_file(name), '\n'))
      if (!line.starts_with("import ") && !line.starts_with("//")) out.append(line).append("\n");
  return out;
}

}  // namespace

std::string kind_class(int rank) { return rank >= 0 && rank < kKindColours ? fmt::format("k{}", rank) : "k-other"; }

std::string html_page(std::string_view title, std::string_view body, std::string_view scripts) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}{}</style></head>\n<body><main>\n{}\n</main>\n",
      html_escape(title), palette_style(), embedded_file("look.css"), embedded_file("report.css"), body);
  if (!scripts.empty()) out += fmt::format("<script type=\"module\">\n{}</script>\n", joined(scripts));
  return out + "</body></html>\n";
}

std::string html_cards(const std::vector<Card>& cards) {
  std::string out = "<div class=\"cards\">\n";
  for (const Card& card : cards)
    out += fmt::format(
        "<div class=\"card\"><div class=\"l\">{}</div><div class=\"v\">{}<span class=\"u\">{}</span></div><div "
        "class=\"n\">{}</div></div>\n",
        html_escape(card.label), html_escape(card.value), html_escape(card.unit), html_escape(card.note));
  return out + "</div>\n";
}

std::string html_facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<p class=\"facts\">";
  for (const auto& [key, value] : facts)
    out += fmt::format("<span><b>{}</b>{}</span>", html_escape(key), html_escape(value));
  return out + "</p>\n";
}

std::string html_footer(std::string_view version, std::string_view command) {
  return fmt::format("<footer>smartmig {}{}</footer>\n", html_escape(version),
                     command.empty() ? "" : fmt::format(": <code>{}</code>", html_escape(command)));
}

std::string html_section(std::string_view title, std::string_view note, std::string_view inner) {
  return fmt::format("<section class=\"card-box\"><h2>{}</h2><p class=\"note\">{}</p>{}</section>\n",
                     html_escape(title), html_escape(note), inner);
}

}  // namespace smartmig
