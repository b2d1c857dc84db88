#include "report/html_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "report/quote.h"

namespace smartmig {
namespace {

constexpr std::string_view kStyle = R"CSS(
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
  font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
main{max-width:1320px;margin:0 auto;padding:28px 24px 40px}
h1{font-size:22px;line-height:1.25;margin:0 0 6px;font-weight:650;letter-spacing:-.01em}
h2{font-size:15px;margin:0;font-weight:650}
.facts{display:flex;flex-wrap:wrap;gap:2px 20px;color:var(--ink2);margin:0 0 20px;font-size:13px}
.facts b{font-weight:500;color:var(--ink3);margin-right:6px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(126px,1fr));gap:10px;margin-bottom:16px}
.card,section{background:var(--surface);border:1px solid var(--line);border-radius:10px}
.card{padding:11px 13px}
.card .l{color:var(--ink2);font-size:12.5px}
.card .v{font-size:23px;font-weight:620;line-height:1.3;font-variant-numeric:tabular-nums;white-space:nowrap}
.card .u{font-size:13px;font-weight:450;color:var(--ink2);margin-left:4px}
.card .n{color:var(--ink3);font-size:12px;white-space:nowrap}
section{padding:16px 18px 18px;margin-bottom:16px}
section>.note{color:var(--ink3);font-size:12.5px;margin:2px 0 12px}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:16px}
.two>section{margin:0}
.two{margin-bottom:16px}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:12.5px;color:var(--ink2);margin:0 0 10px}
.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.legend i.late{height:3px;border-radius:0;vertical-align:3px;width:14px;background:var(--late)}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--ink2)}
svg text.s{fill:var(--ink)}
svg .ax{stroke:var(--line)}
svg .gr{stroke:var(--grid)}
svg .mid{text-anchor:middle}
svg .end{text-anchor:end}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:6px 12px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th{font-weight:500;color:var(--ink3);font-size:12.5px;border-bottom-color:var(--line)}
th:first-child,td:first-child{text-align:left;padding-left:2px}
tr:last-child td{border-bottom:0}
td.best{font-weight:650}
.scroll{overflow-x:auto}
td i{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:8px}
.bar{display:inline-block;height:10px;border-radius:0 3px 3px 0;vertical-align:middle;min-width:1px}
td.w{width:46%;text-align:left;padding-right:0}
.tools{float:right;display:flex;gap:6px}
button{font:inherit;font-size:12.5px;color:var(--ink2);background:var(--surface);border:1px solid var(--line);
  border-radius:6px;padding:2px 10px;cursor:pointer}
button:hover{color:var(--ink);border-color:var(--ink3)}
#chart{position:relative}
#chart canvas{display:block;width:100%;cursor:grab;touch-action:pan-y;outline-offset:3px}
#chart canvas:active{cursor:grabbing}
#tip{position:absolute;pointer-events:none;display:none;background:var(--surface);color:var(--ink);
  border:1px solid var(--line);border-radius:8px;padding:8px 11px;font-size:12.5px;line-height:1.5;
  box-shadow:0 4px 18px rgba(0,0,0,.16);white-space:nowrap;z-index:2}
#tip b{font-weight:620}
#tip span{color:var(--ink2)}
#tip .late{color:var(--late)}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:14px 20px}
.multiples h3{font-size:12.5px;font-weight:550;margin:0 0 2px;color:var(--ink)}
.multiples h3 span{color:var(--ink3);font-weight:400;margin-left:8px}
footer{color:var(--ink3);font-size:12px;padding:4px 2px}
)CSS";

// The colours that reports and the page in a browser share (data/palette.json).
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

std::string kind_styles() {
  std::string out;
  for (int i = 0; i <= kKindColours; ++i) {
    const std::string name = kind_class(i);
    out += fmt::format(".{0}{{background:var(--{0});fill:var(--{0})}}", name);
  }
  return out + ".k-idle{background:var(--idle);fill:var(--idle)}";
}

}  // namespace

std::string kind_class(int rank) { return rank >= 0 && rank < kKindColours ? fmt::format("k{}", rank) : "k-other"; }

std::string html_page(std::string_view title, std::string_view body, std::string_view script) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}{}</style></head>\n<body><main>\n{}\n</main>\n",
      html_escape(title), palette_style(), kStyle, kind_styles(), body);
  if (!script.empty()) out += fmt::format("<script>{}</script>\n", script);
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

std::string html_section(std::string_view title, std::string_view note, std::string_view inner) {
  return fmt::format("<section><h2>{}</h2><p class=\"note\">{}</p>{}</section>\n", html_escape(title),
                     html_escape(note), inner);
}

}  // namespace smartmig
