#include "bound/checker_run.h"

#include <algorithm>
#include <cmath>

#include "bound/checker_rounding.h"

namespace smartmig {

// A price has at most 60 bits, an instant at most 54 (parse_certificate() refuses edges beyond 1e16 us, Workload
// refuses times beyond that), so sums do not overflow.
CheckedRun::CheckedRun(const Prices& prices, std::size_t classes, double tau)
    : prices_(prices), classes_(classes), tau_(tau) {
  double most = 0;
  for (const double price : prices.values) most = std::max(most, price);
  for (const double price : prices.own.values) most = std::max(most, price);
  int exponent = 0;
  std::frexp(most, &exponent);  // most < 2^exponent
  scale_ = std::min(1000, 60 - exponent);
  for (const double price : prices.values) units_.push_back(in_units(price));
  paid_.assign(classes, 0);
  for (std::size_t w = 0; w < prices.windows.count(); ++w)
    for (std::size_t k = 0; k < classes; ++k) paid_.push_back(paid(w, k, prices.windows.edges[w + 1]));
}

std::int64_t CheckedRun::in_units(double price) const { return std::int64_t(std::floor(std::ldexp(price, scale_))); }

// What the job's own prices cost from the start of its first window to `at`, an instant in that window.
CheckedRun::Sum CheckedRun::own_paid(std::size_t window, std::int64_t at) const {
  if (window < own_.first_window) return 0;
  const std::size_t i = window - own_.first_window;
  if (i >= own_.count) return own_paid_.back();
  return own_paid_[i] + Sum(in_units(own_.values[i])) * (at - prices_.windows.edges[window]);
}

double CheckedRun::least_cost(Time submit, Time deadline, const std::vector<CheckedJob::Size>& sizes,
                              const OwnRow& own) {
  own_ = own;
  own_paid_.assign(1, 0);
  for (std::size_t i = 0; i < own.count; ++i)
    own_paid_.push_back(own_paid(own.first_window + i, prices_.windows.edges[own.first_window + i + 1]));
  const std::vector<std::int64_t>& edges = prices_.windows.edges;
  const std::size_t windows = prices_.windows.count();
  double least = kInfinity;
  for (const CheckedJob::Size& size : sizes) {
    const double charge = std::max(0.0, product_down(minutes_low(size.work_us), size.charge));
    std::int64_t start = submit.count();
    std::size_t from = prices_.windows.find(submit), to = prices_.windows.find(Time(start + size.work_us));
    for (;;) {
      const std::int64_t end = start + size.work_us;
      double late = end > deadline.count() ? product_down(tau_, minutes_low(end - deadline.count())) : 0;
      if (own.end_price > 0) late = std::max(0.0, down(late + down(own.end_price * minutes_low(end))));
      if (late >= least) break;  // later starts end later
      const auto us = double(paid(to, size.slice_class, end) - paid(from, size.slice_class, start) + own_paid(to, end) -
                             own_paid(from, start));  // rounded to nearest
      const double prices = std::max(0.0, down(down(std::ldexp(us, -scale_)) / 60e6));
      least = std::min(least, down(down(late + charge) + prices));
      if (from >= windows) break;  // from here on there is one price, and lateness does not fall
      std::int64_t next = edges[from + 1];
      if (to < windows) next = std::min(next, edges[to + 1] - size.work_us);
      if (end < deadline.count()) next = std::min(next, deadline.count() - size.work_us);
      start = next;
      while (from < windows && edges[from + 1] <= start) ++from;
      while (to < windows && edges[to + 1] <= start + size.work_us) ++to;
    }
  }
  return std::max(0.0, least);
}

}  // namespace smartmig
