// The charts of a comparison: scatter and whiskers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/quote.h"
#include "report/svg_chart.h"

namespace smartmig {
namespace {

constexpr double kLeastChange = -99;  // per cent: an interval over few days may reach below the possible
constexpr std::string_view kBoundLine = "stroke=\"var(--base)\" stroke-dasharray=\"5 4\"";

struct Box {
  double left, top, right, bottom;
  bool meets(const Box& o) const { return left < o.right && o.left < right && top < o.bottom && o.top < bottom; }
  bool within(const Box& o) const { return left > o.left && right < o.right && top > o.top && bottom < o.bottom; }
};

// The name of a point at the first free place around it; farther away with a line to it.
std::string label_svg(const std::string& name, double cx, double cy, const Box& room, std::vector<Box>& taken) {
  const double width = 6.6 * double(name.size()) + 4;
  for (double away = 0; away < 150; away += 18) {
    const double right = 10 + away / 2, up = -8 - away;
    const std::pair<double, double> offsets[] = {
        {right, up},         {-right - width, up}, {-width / 2, -25 - away},     {-width / 2, 9 + away},
        {right, -24 - away}, {right, 8 + away},    {-right - width, -24 - away}, {-right - width, 8 + away}};
    for (const auto& [dx, dy] : offsets) {
      const Box box{cx + dx, cy + dy, cx + dx + width, cy + dy + 16};
      if (!box.within(room) ||
          std::any_of(taken.begin(), taken.end(), [&](const Box& other) { return box.meets(other); }))
        continue;
      taken.push_back(box);
      const double x = std::clamp(cx, box.left, box.right), y = std::clamp(cy, box.top, box.bottom);
      return (away > 0 ? svg_line(cx, cy, x, y, "class=\"ax\"") : std::string()) +
             fmt::format("<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.left + 2, box.top + 12,
                         html_escape(name));
    }
  }
  return {};
}

}  // namespace

std::string scatter_svg(const std::vector<ScatterPoint>& points, std::string_view x_title, std::string_view y_title,
                        std::optional<double> x_bound) {
  constexpr double kWidth = 620, kHeight = 380, kLeft = 58, kRight = 24, kTop = 26, kBottom = 46;
  double low = x_bound.value_or(points.empty() ? 0 : points[0].x), high = low, top = 0;
  for (const ScatterPoint& p : points) {
    low = std::min(low, p.x);
    high = std::max(high, p.x);
    top = std::max(top, p.y);
  }
  const double margin = (high - low) * 0.06;
  const Axis x = Axis::make(low - margin, high + margin, 6, kLeft, kWidth - kRight);
  double bottom = top;
  for (const ScatterPoint& p : points) bottom = std::min(bottom, p.y);
  const bool wide = bottom > 0 && top > 20 * bottom;
  const Axis y = wide ? Axis::make_scaled(Axis::kLog, bottom, top, kHeight - kBottom, kTop)
                      : Axis::make(0, top * 1.05, 5, kHeight - kBottom, kTop);
  std::string out = svg_open(kWidth, kHeight, fmt::format("{} against {}", y_title, x_title));
  out += svg_y_axis(y, kLeft, y_title, kWidth - kRight) + svg_x_axis(x, kHeight - kBottom, x_title);
  if (x_bound)
    out += svg_line(x.at(*x_bound), y.from, x.at(*x_bound), y.to, kBoundLine) +
           fmt::format("<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\">lower bound</text>", x.at(*x_bound) + 6, y.to + 12);
  std::vector<Box> taken;
  for (const ScatterPoint& p : points) taken.push_back({x.at(p.x) - 7, y.at(p.y) - 7, x.at(p.x) + 7, y.at(p.y) + 7});
  // A point that others hide is a larger ring behind them.
  std::vector<std::pair<double, const ScatterPoint*>> marks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double radius = 6;
    for (std::size_t j = 0; j < i; ++j)
      if (std::hypot(x.at(points[i].x) - x.at(points[j].x), y.at(points[i].y) - y.at(points[j].y)) < 7) radius += 4;
    marks.emplace_back(radius, &points[i]);
  }
  std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [radius, p] : marks)
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\" class=\"{}\" stroke=\"var(--surface)\" "
        "stroke-width=\"1.5\"><title>{}: {:.3f}, {:.4f}</title></circle>",
        x.at(p->x), y.at(p->y), radius, p->css_class, html_escape(p->name), p->x, p->y);
  for (const ScatterPoint& p : points)
    out += label_svg(p.name, x.at(p.x), y.at(p.y), {kLeft, 0, kWidth, kHeight - kBottom + 2}, taken);
  return out + "</svg>";
}

std::string whisker_svg(const std::vector<Whisker>& rows, std::string_view x_title, std::optional<double> bound,
                        std::string_view bound_name) {
  constexpr double kWidth = 620, kTop = 22, kRight = 70;
  const double row_height = std::clamp(308.0 / double(std::max<std::size_t>(1, rows.size())), 22.0, 72.0);
  double low = 0, high = 0;
  std::size_t longest = 4;
  for (const Whisker& row : rows) {
    low = std::min({low, row.value, std::max(kLeastChange, row.low.value_or(row.value))});
    high = std::max({high, row.value, row.high.value_or(row.value)});
    longest = std::max(longest, row.name.size());
  }
  if (bound) low = std::min(low, *bound);
  if (bound) high = std::max(high, *bound);
  const double left = std::min(220.0, 7.4 * double(longest) + 18), bottom = kTop + row_height * double(rows.size());
  const Axis x = high > 300 ? Axis::make_scaled(Axis::kRatio, low, high, left, kWidth - kRight)
                            : Axis::make(low, high, 6, left, kWidth - kRight);
  std::string out = svg_open(kWidth, bottom + 46, x_title) + svg_x_axis(x, bottom, x_title, kTop - 6);
  out += svg_line(x.at(0), kTop - 6, x.at(0), bottom, "stroke=\"var(--ink3)\"");
  if (bound)
    out += svg_line(x.at(*bound), kTop - 6, x.at(*bound), bottom, kBoundLine) +
           fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x.at(*bound), kTop - 10,
                       html_escape(bound_name));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Whisker& row = rows[i];
    const double y = kTop + row_height * (double(i) + 0.5);
    out += fmt::format("<text class=\"s end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", left - 10, y + 4,
                       html_escape(row.name));
    if (row.low && row.high)
      out += svg_line(x.at(std::max(kLeastChange, *row.low)), y, x.at(*row.high), y,
                      "stroke=\"var(--ink3)\" stroke-width=\"2\" stroke-linecap=\"round\"");
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" class=\"{}\" stroke=\"var(--surface)\" stroke-width=\"1.5\"/>",
        x.at(row.value), y, row.css_class);
    out +=
        fmt::format("<text class=\"s end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", kWidth, y + 4, change_text(row.value));
  }
  return out + "</svg>";
}

}  // namespace smartmig
