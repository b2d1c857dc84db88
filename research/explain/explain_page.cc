#include "research/explain/explain_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/quote.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

// The layouts with most GPU time get their own colours; the others share one.
struct Palette {
  explicit Palette(const ExplainPage& page) : rank(page.layouts.size(), kKindColours), order(page.layouts.size()) {
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return page.layouts[a].time_percent > page.layouts[b].time_percent;
    });
    for (std::size_t i = 0; i < order.size() && i < std::size_t(kKindColours); ++i) rank[order[i]] = int(i);
  }
  // Percent of each colour; the shared one is last.
  std::vector<double> sums(const std::vector<double>& percent) const {
    std::vector<double> out(std::size_t(kKindColours) + 1);
    for (std::size_t l = 0; l < percent.size(); ++l) out[std::size_t(rank[l])] += percent[l];
    return out;
  }
  std::string name(const ExplainPage& page, std::size_t colour) const {
    if (colour >= std::size_t(kKindColours) || colour >= order.size()) return "other layouts";
    const auto& layout = page.layouts[order[colour]];
    return layout.label == layout.name ? layout.name : layout.label + "  " + layout.name;
  }
  std::vector<int> rank;
  std::vector<std::size_t> order;
};

std::string layout_legend(const ExplainPage& page, const Palette& palette) {
  std::string out = "<div class=\"legend\">";
  const std::size_t colours = std::min(page.layouts.size(), std::size_t(kKindColours) + 1);
  for (std::size_t c = 0; c < colours; ++c)
    out += fmt::format("<span><i class=\"{}\"></i>{}</span>", kind_class(int(c)), html_escape(palette.name(page, c)));
  return out + "</div>";
}

std::string stacked(const ExplainPage& page, const Palette& palette, const ExplainPage::Chart& chart) {
  constexpr double kWidth = 560, kHeight = 250, kLeft = 44, kRight = 8, kTop = 20, kBottom = 46;
  const Axis y = Axis::make(0, 100, 4, kHeight - kBottom, kTop);
  std::string out = svg_open(kWidth, kHeight, chart.title) + svg_y_axis(y, kLeft, "% of GPU time", kWidth - kRight);
  const double step = (kWidth - kLeft - kRight) / double(std::max<std::size_t>(1, chart.columns.size()));
  for (std::size_t c = 0; c < chart.columns.size(); ++c) {
    const auto& column = chart.columns[c];
    const double x = kLeft + step * (double(c) + 0.1);
    const auto sums = palette.sums(column.percent);
    double below = 0;
    for (std::size_t colour = 0; colour < sums.size(); ++colour) {
      if (sums[colour] < 0.05) continue;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"><title>{} {}: {:.1f} %, "
          "{}</title></rect>",
          x, y.at(below + sums[colour]), step * 0.8, y.at(below) - y.at(below + sums[colour]), kind_class(int(colour)),
          html_escape(chart.x_title), html_escape(column.label), sums[colour], html_escape(palette.name(page, colour)));
      below += sums[colour];
    }
    out += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + step * 0.4,
                       kHeight - kBottom + 15, html_escape(column.label));
    out += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{:.0f} h</text>", x + step * 0.4,
                       kHeight - kBottom + 28, column.gpu_hours);
  }
  return out + fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}; GPU hours a day</text></svg>",
                           (kLeft + kWidth - kRight) / 2, kHeight - 4, html_escape(chart.x_title));
}

std::string layouts_table(const ExplainPage& page, const Palette& palette) {
  const bool paper = std::any_of(page.layouts.begin(), page.layouts.end(),
                                 [](const auto& layout) { return layout.paper_percent.has_value(); });
  std::string out = "<div class=\"scroll\"><table><tr><th>layout</th><th>slices</th><th>GPU time</th><th>calls</th>";
  if (paper) out += "<th>the paper</th>";
  out += "<th></th></tr>";
  for (std::size_t l = 0; l < page.layouts.size(); ++l) {
    const auto& layout = page.layouts[l];
    out += fmt::format("<tr><td><i class=\"{}\"></i>{}</td><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td>",
                       kind_class(palette.rank[l]), html_escape(layout.label), html_escape(layout.name),
                       layout.time_percent, layout.call_percent);
    if (paper) out += layout.paper_percent ? fmt::format("<td>{:.1f} %</td>", *layout.paper_percent) : "<td></td>";
    out += fmt::format("<td class=\"w\"><span class=\"fill {}\" style=\"width:{:.1f}%\"></span></td></tr>",
                       kind_class(palette.rank[l]), layout.time_percent);
  }
  return out + "</table></div>";
}

std::string rules(const ExplainPage& page, const Palette& palette) {
  std::string out = "<div class=\"scroll\"><table><tr><th>if</th><th>calls</th><th></th></tr>";
  for (const auto& rule : page.rules) {
    out += fmt::format("<tr><td style=\"padding-left:{}px\">{}</td>", 2 + 22 * rule.depth, html_escape(rule.condition));
    if (rule.percent.empty()) {
      out += "<td></td><td class=\"w\"></td></tr>";
      continue;
    }
    out += fmt::format("<td>{:.1f} %</td><td class=\"w\">", rule.call_percent);
    const auto sums = palette.sums(rule.percent);
    for (std::size_t c = 0; c < sums.size(); ++c)
      if (sums[c] >= 0.5)
        out += fmt::format(
            "<span class=\"fill {}\" style=\"width:{:.1f}%;border-radius:0\" title=\"{}: {:.0f} %\"></span>",
            kind_class(int(c)), sums[c] * 0.98, html_escape(palette.name(page, c)), sums[c]);
    out += "</td></tr>";
  }
  return out + "</table></div>";
}

}  // namespace

std::string explain_page(const ExplainPage& page) {
  const Palette palette(page);
  std::string body = fmt::format("<h1>{}</h1>\n", html_escape(page.title)) + html_facts(page.facts) +
                     html_cards(page.cards) + html_section("Layouts", page.paper_note, layouts_table(page, palette));
  body += layout_legend(page, palette) + "<div class=\"two\">";
  for (const auto& chart : page.charts)
    body += html_section(chart.title, "Share of GPU time in each layout.", stacked(page, palette, chart));
  body +=
      "</div>\n" + html_section("Decision table", page.rules_note, layout_legend(page, palette) + rules(page, palette));
  body += fmt::format("<footer>smartmig {}</footer>\n", html_escape(page.version));
  return html_page(page.title, body);
}

}  // namespace smartmig
