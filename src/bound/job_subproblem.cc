#include "bound/job_subproblem.h"

#include <algorithm>

namespace smartmig {
namespace {
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kFull = 1 - 1e-12;
}  // namespace

JobSubproblem::JobSubproblem(const BoundProblem& problem, const Windows& windows)
    : problem_(problem), windows_(windows), classes_(problem.classes.size()) {
  for (const std::int64_t edge : windows.edges) edges_.push_back(double(edge) / 60e6);
}

// Builds the hull by gift wrapping from (0, 0): from each vertex to the faster option of least slope. Options are few,
// so quadratic time is fast.
void JobSubproblem::add_hull(const BoundProblem::Option* options, std::uint32_t count, const double* prices,
                             double extra, double below) {
  const Piece& piece = pieces_.back();
  double speed = 0, cost = 0;
  int at = -1;
  for (;;) {
    double best = kEndless, best_speed = 0, best_cost = 0;
    int to = -1;
    for (std::uint32_t k = 0; k < count; ++k) {
      const double s = 1 / options[k].work;
      if (s <= speed) continue;
      const double c = prices[options[k].slice_class] + options[k].charge + extra;
      const double slope = (c - cost) / (s - speed);
      if (slope < best || (slope == best && s > best_speed)) {
        best = slope;
        best_speed = s;
        best_cost = c;
        to = int(k);
      }
    }
    if (to < 0 || best >= below) return;
    segments_.push_back({best, (best_speed - speed) * piece.length, at, to});
    speed = best_speed;
    cost = best_cost;
    at = to;
  }
}

void JobSubproblem::add_demand(double* demand, double* own_demand) const {
  const BoundProblem::Option* options = options_;
  const Best& best = best_;
  if (!options) return;
  const auto add_own = [&](std::size_t window, double minutes) {
    if (own_demand && window - own_.first_window < own_.count) own_demand[window - own_.first_window] += minutes;
  };
  double left = 1;
  if (best.option >= 0) {
    left -= best.minutes / options[best.option].work;
    if (best.window < windows_.count()) {
      demand[best.window * classes_ + std::size_t(options[best.option].slice_class)] += best.minutes;
      add_own(best.window, best.minutes);
    }
  }
  const double margin = best.slope * (1 - 1e-12);
  const auto use = [&](const Piece& piece, const Segment& s, double share) {
    if (piece.window >= windows_.count()) return;
    double* row = demand + piece.window * classes_;
    row[options[s.to].slice_class] += share * piece.length;
    if (s.from >= 0)
      row[options[s.from].slice_class] -= share * piece.length;
    else
      add_own(piece.window, share * piece.length);
  };
  for (std::size_t i = 0; i < best.pieces; ++i)
    for (std::size_t s = pieces_[i].first; s < pieces_[i].last; ++s)
      if (segments_[s].slope < margin) {
        use(pieces_[i], segments_[s], 1);
        left -= segments_[s].width;
      }
  for (std::size_t i = 0; i < best.pieces && left > 1e-12; ++i)
    for (std::size_t s = pieces_[i].first; s < pieces_[i].last && left > 1e-12; ++s)
      if (segments_[s].slope >= margin && segments_[s].slope <= best.slope * (1 + 1e-12)) {
        const double share = std::min(1.0, left / segments_[s].width);
        use(pieces_[i], segments_[s], share);
        left -= share * segments_[s].width;
      }
}

double JobSubproblem::end() const {
  double at = release_;
  for (std::size_t i = 0; options_ && i < best_.pieces; ++i) at += pieces_[i].length;
  return options_ ? at + best_.minutes : at;
}

double JobSubproblem::solve(const BoundProblem::Job& job, std::size_t first_window, const double* prices,
                            const double* least, const OwnRow& own) {
  const double tau = problem_.weights.tardiness;
  const double deadline = tau > 0 ? job.deadline : kEndless;
  options_ = nullptr;
  own_ = own;
  release_ = job.release;
  const auto ending = [&](double at) { return own.end_price * at + (at > deadline ? tau * (at - deadline) : 0); };
  if (job.options == 0) return ending(job.release);
  const BoundProblem::Option* options = options_ = problem_.options.data() + job.first;
  double least_fill = kEndless;
  for (std::uint32_t k = 0; k < job.options; ++k)
    least_fill = std::min(least_fill, options[k].work * (least[options[k].slice_class] + options[k].charge));

  segments_.clear();
  heap_.clear();
  pieces_.clear();
  Best& best = best_ = Best{};
  double total = 0, cost = 0;  // of the accepted segments: their progress and cost
  double at = job.release;
  const auto pop = [&] {
    std::pop_heap(heap_.begin(), heap_.end());
    const Accepted dearest = heap_.back();
    heap_.pop_back();
    total -= dearest.width;
    cost -= dearest.width * dearest.slope;
    return dearest;
  };
  const auto push = [&](Accepted segment) {
    heap_.push_back(segment);
    std::push_heap(heap_.begin(), heap_.end());
    total += segment.width;
    cost += segment.width * segment.slope;
  };

  for (std::size_t w = first_window;;) {
    const bool tail = w >= windows_.count();
    const double window_end = tail ? kEndless : edges_[w + 1];
    const bool late = at >= deadline;
    const double end = late ? window_end : std::min(window_end, deadline);
    const double late_cost = ending(at), minute_more = own.end_price + (late ? tau : 0);
    if (late_cost + least_fill >= best.value) break;
    const double marginal = total >= kFull ? heap_.front().slope : kEndless;
    if (marginal <= least_fill) break;
    const double length = end - at;
    const double* row = prices + w * classes_;
    const double extra = own.at(w);
    double cheapest = kEndless, stationary = kEndless;
    int cheapest_option = -1, stationary_option = -1;
    for (std::uint32_t k = 0; k < job.options; ++k) {
      const double price = row[options[k].slice_class] + options[k].charge + extra;
      const double slope = options[k].work * price, with_time = options[k].work * (price + minute_more);
      if (slope < cheapest) cheapest = slope, cheapest_option = int(k);
      if (with_time < stationary) stationary = with_time, stationary_option = int(k);
    }
    pieces_.push_back({w, length, segments_.size(), segments_.size()});
    if (cheapest < marginal) {
      if (minute_more > 0 && stationary < marginal) {
        const double work = options[stationary_option].work;
        double run = (1 - total) * work;
        Accepted last{0, 0};
        while (run <= length && !heap_.empty() && heap_.front().slope > stationary) {
          last = pop();
          run = (1 - total) * work;
        }
        if (run <= length) {
          const double value = cost + (1 - total) * stationary + late_cost;
          if (value < best.value) best = {value, stationary, pieces_.size() - 1, stationary_option, w, run};
        } else if (last.width > 0) {
          push(last);
        }
      }
      if (end == kEndless) {
        if (minute_more > 0) break;  // the stationary point was the best of the tail
        while (!heap_.empty() && heap_.front().slope > cheapest) pop();
        const double value = cost + (1 - total) * cheapest;
        if (value < best.value)
          best = {value, cheapest, pieces_.size() - 1, cheapest_option, w, (1 - total) * options[cheapest_option].work};
        break;
      }
      add_hull(options, job.options, row, extra, marginal);
      pieces_.back().last = segments_.size();
      for (std::size_t s = pieces_.back().first; s < segments_.size(); ++s)
        push({segments_[s].slope, segments_[s].width});
      while (!heap_.empty() && total - heap_.front().width >= 1) pop();
      if (total > 1) {
        Accepted dearest = pop();
        dearest.width = 1 - total;
        if (dearest.width > 0) push(dearest);
      }
    }
    if (total >= kFull) {
      const double value = cost + ending(end);
      if (value < best.value) best = {value, heap_.front().slope, pieces_.size(), -1, 0, 0};
    }
    if (end == kEndless) break;
    at = end;
    if (at >= window_end) ++w;
  }
  count_ += pieces_.size();
  return best.value;
}

}  // namespace smartmig
