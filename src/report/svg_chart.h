// Small static charts as inline SVG: axes with round ticks. C++ draws them, so tests can check their numbers. All take
// data in the units shown on the axis.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smartmig {

// 1, 2, 2.5 or 5 times a power of ten, for about `count` steps over the range.
double round_step(double range, int count);
std::string tick_text(double value, double step);  // as many decimals as the step needs

// Maps [low, high] to pixels and draws ticks. make() widens the range to whole steps.
struct Axis {
  enum Scale {
    kLinear,
    kLog,    // values above 0, for ranges over several powers of ten
    kRatio,  // changes in per cent above -100, by the logarithm of the ratio: -50 and +100 are equally far from 0
  };
  double low = 0, high = 1, step = 0.2;
  double from = 0, to = 1;  // pixels
  Scale scale = kLinear;
  static Axis make(double low, double high, int steps, double from, double to);
  static Axis make_scaled(Scale scale, double low, double high, double from, double to);
  double at(double value) const {
    return from + (place(value) - place(low)) / (place(high) - place(low)) * (to - from);
  }
  double place(double value) const;
  std::vector<double> ticks() const;
  std::string tick(double value) const;
  std::string titled(std::string_view title) const;  // says if the scale is logarithmic
};

// "+12.3 %"; from four times on "87x".
std::string change_text(double percent);

std::string svg_open(double width, double height, std::string_view label);  // the caller adds </svg>
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes);
std::string svg_x_axis(const Axis& x, double y, std::string_view title,
                       double grid_to = -1);  // grid_to: top of vertical lines
std::string svg_y_axis(const Axis& y, double x, std::string_view title,
                       double grid_to);  // grid_to: right end of the lines

// 0 and the numbers 1, 2 or 5 times a power of ten, from a thousandth of `highest` to the first that reaches it. These
// are bins for values with a heavy tail, of about equal width on a logarithmic scale. Both charts below use them.
std::vector<double> heavy_tail_edges(double highest);
std::string histogram_svg(const std::vector<double>& sorted_values, std::string_view x_title, std::string_view y_title);
std::string cdf_svg(const std::vector<double>& sorted_values, std::string_view x_title, std::string_view y_title);

struct ScatterPoint {
  double x = 0, y = 0;
  std::string name, css_class;
};
std::string scatter_svg(const std::vector<ScatterPoint>& points, std::string_view x_title, std::string_view y_title,
                        std::optional<double> x_bound);

struct Whisker {
  std::string name, css_class;
  double value = 0;
  std::optional<double> low, high;
};
std::string whisker_svg(const std::vector<Whisker>& rows, std::string_view x_title, std::optional<double> bound,
                        std::string_view bound_name);

}  // namespace smartmig
