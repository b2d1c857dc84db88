#include "bound/checker_job.h"

#include <algorithm>

#include "bound/checker_rounding.h"

namespace smartmig {

CheckedJob::CheckedJob(const Prices& prices, std::size_t classes, double tau)
    : prices_(prices), classes_(classes), tau_(tau), least_after_(prices.values) {
  for (std::size_t w = prices.windows.count(); w-- > 0;)
    for (std::size_t k = 0; k < classes; ++k)
      least_after_[w * classes + k] = std::min(least_after_[w * classes + k], least_after_[(w + 1) * classes + k]);
}

double CheckedJob::gain(std::size_t window, double lambda) const {
  double most = 0;
  const double* row = prices_.values.data() + window * classes_;
  for (const Speed& s : speeds_)
    most = std::max(most, up(up(lambda * s.per_minute) - down(down(row[s.slice_class] + s.charge) + own_.at(window))));
  return most;
}

double CheckedJob::ending(std::int64_t at, Time deadline) const {
  const double late = at > deadline.count() ? product_down(tau_, minutes_low(at - deadline.count())) : 0;
  return std::max(0.0, own_.end_price > 0 ? down(late + down(own_.end_price * minutes_low(at))) : late);
}

// The pieces until waiting alone costs `enough`, or to the end of time. `rest` bounds every completion after the last
// piece.
void CheckedJob::cut(Time submit, Time deadline, double enough, double least_fill, double& rest) {
  pieces_.clear();
  rest = kInfinity;
  std::int64_t at = submit.count();
  for (std::size_t w = prices_.windows.find(submit);;) {
    const bool tail = w >= prices_.windows.count(), is_late = at >= deadline.count();
    const double late = ending(at, deadline), minute_more = down((is_late ? tau_ : 0) + own_.end_price);
    if (down(late + least_fill) >= enough) {
      rest = down(late + least_fill);
      return;
    }
    std::int64_t end = tail ? std::numeric_limits<std::int64_t>::max() : prices_.windows.edges[w + 1];
    if (!is_late) end = std::min(end, deadline.count());
    const bool last = tail && (is_late || deadline == kNever);
    pieces_.push_back(
        {w, last ? kInfinity : minutes_high(end - at), std::max(0.0, minute_more), late, -kInfinity, false});
    if (last) return;
    at = end;
    if (!tail && at >= prices_.windows.edges[w + 1]) ++w;
  }
}

// Only chooses lambda, so plain arithmetic suffices. phi is concave in lambda; its slope gives the direction.
double CheckedJob::best_lambda(std::size_t piece, double enough) const {
  const auto slope = [&](double lambda, double& phi) {
    double rise = 1;
    phi = lambda + pieces_[piece].late;
    for (std::size_t i = 0; i <= piece; ++i) {
      const double* row = prices_.values.data() + pieces_[i].window * classes_;
      const double own = own_.at(pieces_[i].window);
      double most = i == piece ? pieces_[i].tau : 0, floor = most, speed = 0;
      for (const Speed& s : speeds_)
        if (const double v = lambda * s.per_minute - row[s.slice_class] - s.charge - own; v > most)
          most = v, speed = s.per_minute;
      if (speed == 0) continue;
      rise -= pieces_[i].length * speed;
      phi -= pieces_[i].length * (most - floor);
      if (rise < 0) break;
    }
    return rise;
  };
  double low = 0, high = std::max(enough, 1e-9), phi = 0;
  for (int i = 0; i < 60 && slope(high, phi) > 0; ++i) {
    if (phi > enough) return high;  // no completion in this piece can be the cheapest
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle, phi) > 0 ? low : high) = middle;
  }
  return low * (1 - 1e-12);  // keeps outward rounding from pushing v above tau, where the tail's phi is minus infinity
}

void CheckedJob::try_lambda(double lambda) {
  double spent = 0;  // sum of length * v over the earlier pieces, rounded up
  for (Piece& piece : pieces_) {
    const double v = gain(piece.window, lambda);
    const double excess = v > piece.tau ? up(v - piece.tau) : 0;
    if (excess == 0 || piece.length < kInfinity) {
      const double phi = down(down(down(lambda - spent) + piece.late) - (excess > 0 ? up(piece.length * excess) : 0));
      piece.value = std::max(piece.value, phi);
    }
    if (v > 0) spent = up(spent + up(piece.length * v));
    if (spent == kInfinity) return;
  }
}

double CheckedJob::least_price(Time submit, const std::vector<Size>& sizes) const {
  double least = kInfinity;
  for (const Size& s : sizes)
    least = std::min(least, down(least_after_[prices_.windows.find(submit) * classes_ + s.slice_class] + s.charge));
  return std::max(0.0, least);
}

double CheckedJob::least_cost(Time submit, Time deadline, const std::vector<Size>& sizes, const OwnRow& own) {
  own_ = own;
  if (sizes.empty()) return ending(submit.count(), deadline);
  const std::size_t window = prices_.windows.find(submit);
  double least_fill = kInfinity, enough = kInfinity;
  speeds_.clear();
  for (const Size& s : sizes) {
    const double work = minutes_low(s.work_us);
    speeds_.push_back({s.slice_class, up(1 / work), s.charge});
    least_fill = std::min(least_fill, down(work * down(least_after_[window * classes_ + s.slice_class] + s.charge)));
    // A run that starts at once and never stops; it only bounds the search.
    double cost = 0;
    std::int64_t at = submit.count();
    const std::int64_t end = at + s.work_us;
    for (std::size_t w = window; at < end; ++w) {
      const std::int64_t to = w < prices_.windows.count() ? std::min(end, prices_.windows.edges[w + 1]) : end;
      cost += double(to - at) / 60e6 * (prices_.values[w * classes_ + s.slice_class] + s.charge + own.at(w));
      at = to;
    }
    if (end > deadline.count()) cost += tau_ * double(end - deadline.count()) / 60e6;
    cost += own.end_price * double(end) / 60e6;
    enough = std::min(enough, cost);
  }
  least_fill = std::max(0.0, least_fill);
  if ((tau_ == 0 || deadline == kNever) && own.end_price == 0) return least_fill;
  double rest = 0;
  cut(submit, deadline, enough, least_fill, rest);
  for (;;) {
    std::size_t worst = pieces_.size();
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].value < rest && (worst == pieces_.size() || pieces_[i].value < pieces_[worst].value)) worst = i;
    if (worst == pieces_.size()) return std::max(least_fill, rest);
    if (pieces_[worst].settled) return std::max(least_fill, pieces_[worst].value);
    pieces_[worst].settled = true;
    try_lambda(best_lambda(worst, enough));
  }
}

}  // namespace smartmig
