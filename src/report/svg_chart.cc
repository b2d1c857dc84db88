#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "report/quote.h"

namespace smartmig {
namespace {
constexpr double kWidth = 560, kHeight = 260, kLeft = 58, kRight = 14, kTop = 22, kBottom = 44;
}

double round_step(double range, int count) {
  if (!(range > 0) || !std::isfinite(range)) return 1;
  double unit = 1;
  const double rough = range / count;
  while (unit * 10 <= rough) unit *= 10;
  while (unit > rough) unit /= 10;
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0})
    if (unit * factor >= rough) return unit * factor;
  return unit * 10;
}

std::string tick_text(double value, double step) {
  int decimals = 0;
  for (double s = step; decimals < 9 && std::abs(s - std::round(s)) > 1e-6 * s; s *= 10) ++decimals;
  std::string out = fmt::format("{:.{}f}", value, decimals);
  if (out.find_first_not_of("-0.") == out.npos && out[0] == '-') out.erase(0, 1);
  const std::size_t dot = std::min(out.find('.'), out.size());  // a thin space between thousands
  const std::size_t digits_from = out[0] == '-' ? 1 : 0;
  for (std::size_t i = dot; i > digits_from + 3;) out.insert(i -= 3, "\u202f");
  return out;
}

Axis Axis::make(double low, double high, int steps, double from, double to) {
  if (!(high > low)) high = low + (low == 0 ? 1 : std::abs(low) * 0.1);
  Axis axis;
  axis.step = round_step(high - low, steps);
  axis.low = std::floor(low / axis.step + 1e-9) * axis.step;
  axis.high = std::ceil(high / axis.step - 1e-9) * axis.step;
  axis.from = from;
  axis.to = to;
  return axis;
}

namespace {
constexpr double kRatioTicks[] = {-99, -98, -95, -90, -80, -65, -50,  -35,  -20,  -10,   0,     10,
                                  25,  50,  100, 200, 400, 900, 1900, 4900, 9900, 19900, 49900, 99900};
}  // namespace

// Widens both ends to the next tick.
Axis Axis::make_scaled(Scale scale, double low, double high, double from, double to) {
  Axis axis;
  axis.scale = scale;
  axis.from = from;
  axis.to = to;
  if (scale == kLog) {
    axis.low = axis.high = 1;
    while (axis.low > low) axis.low /= 10;
    while (axis.low * 10 <= low) axis.low *= 10;
    for (axis.high = axis.low; axis.high < high;) axis.high *= 10;
  } else {
    axis.low = -10;
    axis.high = std::max(10.0, high);
    for (const double tick : kRatioTicks)
      if (tick <= low) axis.low = std::min(tick, -10.0);
    const auto above = std::lower_bound(std::begin(kRatioTicks), std::end(kRatioTicks), axis.high);
    if (above != std::end(kRatioTicks)) axis.high = *above;
  }
  return axis;
}

double Axis::place(double value) const {
  if (scale == kLinear) return value;
  return deterministic_log(scale == kLog ? std::max(value, low * 0.5) : std::max(1 + value / 100, 1e-3));
}

std::string Axis::tick(double value) const {
  if (scale == kLinear) return tick_text(value, step);
  return scale == kRatio && value > 0 ? "+" + tick_text(value, 1) : tick_text(value, std::min(1.0, std::abs(value)));
}

std::string Axis::titled(std::string_view title) const {
  return fmt::format("{}{}", title, scale == kLinear ? "" : ", logarithmic scale");
}

std::vector<double> Axis::ticks() const {
  std::vector<double> out;
  if (scale == kLog) {
    for (double power = low; power <= high * 1.0001; power *= 10) out.push_back(power);
    return out;
  }
  if (scale == kRatio) {
    double last = -1e9;
    for (const double value : kRatioTicks)
      if (value >= low && value <= high && (at(value) - last > 44 || value == 0)) {
        if (value == 0)
          while (!out.empty() && at(0) - at(out.back()) < 44) out.pop_back();
        out.push_back(value);
        last = at(value);
      }
    return out;
  }
  const int count = int(std::round((high - low) / step));
  for (int i = 0; i <= count; ++i) out.push_back(low + i * step);
  return out;
}

std::string change_text(double percent) {
  const double times = 1 + percent / 100;
  return times < 4 ? fmt::format("{:+.1f} %", percent) : fmt::format("{:.{}f}x", times, times < 10 ? 1 : 0);
}

std::string svg_open(double width, double height, std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width, height, html_escape(label));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>", x1, y1, x2, y2, attributes);
}

std::string svg_x_axis(const Axis& x, double y, std::string_view title, double grid_to) {
  std::string out;
  for (const double tick : x.ticks()) {
    if (grid_to >= 0) out += svg_line(x.at(tick), y, x.at(tick), grid_to, "class=\"gr\"");
    out += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x.at(tick), y + 17, x.tick(tick));
  }
  out += svg_line(x.from, y, x.to, y, "class=\"ax\"");
  return out + fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", (x.from + x.to) / 2, y + 36,
                           html_escape(x.titled(title)));
}

std::string svg_y_axis(const Axis& y, double x, std::string_view title, double grid_to) {
  std::string out;
  for (const double tick : y.ticks()) {
    out += svg_line(x, y.at(tick), grid_to, y.at(tick), "class=\"gr\"");
    out += fmt::format("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x - 8, y.at(tick) + 4, y.tick(tick));
  }
  return out + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", 0.0, y.to - 10, html_escape(y.titled(title)));
}

std::vector<double> heavy_tail_edges(double highest) {
  double unit = 1;
  if (!(highest > 0) || !std::isfinite(highest)) return {0, 1};
  while (unit < highest) unit *= 10;
  while (unit / 10 >= highest) unit /= 10;
  std::vector<double> edges{0};
  for (int decade = 3; decade >= 0; --decade)
    for (const double factor : {0.2, 0.5, 1.0}) {
      double edge = unit * factor;
      for (int i = 0; i < decade; ++i) edge /= 10;
      if (edge >= highest / 1000 && (edges.back() < highest)) edges.push_back(edge);
    }
  return edges;
}

namespace {

// Equal widths between the edges, linear within each interval.
struct EdgeScale {
  const std::vector<double>& edges;
  double from, to;
  double edge_at(std::size_t i) const { return from + (to - from) * double(i) / double(edges.size() - 1); }
  double at(double value) const {
    std::size_t i = 0;
    while (i + 2 < edges.size() && value > edges[i + 1]) ++i;
    return edge_at(i) + (edge_at(i + 1) - edge_at(i)) * std::min(1.0, (value - edges[i]) / (edges[i + 1] - edges[i]));
  }
};

std::string edge_axis(const EdgeScale& x, double y, std::string_view title, bool bars) {
  std::string out = svg_line(x.from, y, x.to, y, "class=\"ax\"");
  for (std::size_t i = 0; i < x.edges.size(); ++i) {
    out += svg_line(x.edge_at(i), y, x.edge_at(i), y + 4, "class=\"ax\"");
    out += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x.edge_at(i), y + 18,
                       tick_text(x.edges[i], i == 0 ? 1 : x.edges[i]));
  }
  return out +
         fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", (x.from + x.to) / 2, y + 37,
                     html_escape(title) + (bars ? ", logarithmic scale: later bars span more" : ", logarithmic scale"));
}

}  // namespace

std::string histogram_svg(const std::vector<double>& values, std::string_view x_title, std::string_view y_title) {
  const std::vector<double> edges = heavy_tail_edges(values.empty() ? 0 : values.back());
  const EdgeScale x{edges, kLeft, kWidth - kRight};
  std::vector<int> bins(edges.size() - 1);
  for (const double value : values) {
    std::size_t i = 0;
    while (i + 1 < bins.size() && value > edges[i + 1]) ++i;
    ++bins[i];
  }
  const Axis y = Axis::make(0, std::max(*std::max_element(bins.begin(), bins.end()), 4), 4, kHeight - kBottom, kTop);
  std::string out = svg_open(kWidth, kHeight, x_title) + svg_y_axis(y, kLeft, y_title, kWidth - kRight);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const double left = x.edge_at(i) + 1.5, right = x.edge_at(i + 1) - 1.5;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--late)\"><title>{} to {}: {} "
        "jobs</title></rect>",
        left, y.at(bins[i]), right - left, y.at(0) - y.at(bins[i]), tick_text(edges[i], i == 0 ? 1 : edges[i]),
        tick_text(edges[i + 1], edges[i + 1]), bins[i]);
  }
  return out + edge_axis(x, kHeight - kBottom, x_title, true) + "</svg>";
}

std::string cdf_svg(const std::vector<double>& values, std::string_view x_title, std::string_view y_title) {
  const std::vector<double> edges = heavy_tail_edges(values.empty() ? 0 : values.back());
  const EdgeScale x{edges, kLeft, kWidth - kRight};
  const Axis y{0, 100, 25, kHeight - kBottom, kTop};
  std::string path;
  double last = -1;  // pixel of the last drawn point
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i + 1 < values.size() && (values[i + 1] == values[i] || x.at(values[i + 1]) - last < 0.7))
      continue;  // of equal values draws only the last, once per pixel
    last = x.at(values[i]);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : "L", last,
                        y.at(100 * double(i + 1) / double(values.size())));
  }
  if (!values.empty()) path += fmt::format("H{:.1f}", x.to);
  std::string out = svg_open(kWidth, kHeight, x_title) + svg_y_axis(y, kLeft, y_title, kWidth - kRight);
  out += fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\" stroke-linejoin=\"round\"/>", path);
  return out + edge_axis(x, kHeight - kBottom, x_title, false) + "</svg>";
}

}  // namespace smartmig
