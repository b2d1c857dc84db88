#include "research/bounds/priced_run.h"

namespace smartmig {
namespace {
constexpr double kComplete = 1 - 1e-12;
}

// From each vertex of the hull, goes to the faster class of least slope.
void PricedRun::add_hull(const LateJob& job, std::size_t slot, double from, double to, double below,
                         std::vector<Segment>& out) const {
  double speed = 0, cost = 0;
  for (int at = -1;;) {
    double best = kMipInfinity;
    int next = -1;
    for (std::size_t c = 0; c < grid_.classes; ++c) {
      if (job.speeds[c] <= speed) continue;
      const double slope = (price(slot, c) - cost) / (job.speeds[c] - speed);
      if (slope < best || (slope == best && job.speeds[c] > job.speeds[std::size_t(next)])) {
        best = slope;
        next = int(c);
      }
    }
    if (next < 0 || best >= below) return;
    const double faster = job.speeds[std::size_t(next)];
    out.push_back({best, (faster - speed) * (to - from), slot, from, to, at, next});
    speed = faster;
    cost = price(slot, std::size_t(next));
    at = next;
  }
}

WholeRun PricedRun::solve(const LateJob& job, const EndWindow& window) {
  heap_.clear();
  WholeRun best;
  double done = 0, cost = 0;  // of the segments in use
  const auto pop = [&] {
    std::pop_heap(heap_.begin(), heap_.end());
    const Segment dearest = heap_.back();
    heap_.pop_back();
    done -= dearest.width;
    cost -= dearest.width * dearest.slope;
    return dearest;
  };
  const auto push = [&](const Segment& segment) {
    heap_.push_back(segment);
    std::push_heap(heap_.begin(), heap_.end());
    done += segment.width;
    cost += segment.width * segment.slope;
  };
  const double grows_from = std::max(job.deadline, window.earliest);
  double at = job.release;
  const auto& edges = grid_.edges;
  std::size_t slot = std::size_t(std::upper_bound(edges.begin(), edges.end(), at) - edges.begin()) - 1;
  while (at < window.latest && lateness(job, window, at) < best.value) {
    const double slot_end = slot < grid_.slots() ? edges[slot + 1] : kMipInfinity;
    const bool late = at >= grows_from;
    const double end = std::min({slot_end, late ? kMipInfinity : grows_from, window.latest});
    const double marginal = done >= kComplete ? heap_.front().slope : kMipInfinity;
    double stationary = kMipInfinity, speed = 0;
    for (std::size_t c = 0; c < grid_.classes; ++c)
      if (const double with_time = (price(slot, c) + (late ? 1 : 0)) / job.speeds[c];
          job.speeds[c] > 0 && with_time < stationary) {
        stationary = with_time;
        speed = job.speeds[c];
      }
    if (stationary < marginal && (late || end == kMipInfinity)) {
      double minutes = (1 - done) / speed;
      Segment last{};
      while (minutes <= end - at && !heap_.empty() && heap_.front().slope > stationary) {
        last = pop();
        minutes = (1 - done) / speed;
      }
      if (minutes <= end - at) {
        const double value = cost + (1 - done) * stationary + lateness(job, window, at);
        if (value < best.value) best = {at + minutes, value, {}};
      } else if (last.width > 0) {
        push(last);
      }
    }
    if (end == kMipInfinity) break;  // later nothing costs more than the lowest point of the last slot
    fresh_.clear();
    add_hull(job, slot, at, end, marginal, fresh_);
    for (const Segment& segment : fresh_) push(segment);
    while (!heap_.empty() && done - heap_.front().width >= 1) pop();
    if (done > 1) {
      Segment dearest = pop();
      dearest.width = 1 - done;
      if (dearest.width > 0) push(dearest);
    }
    if (done >= kComplete)
      if (const double value = cost + lateness(job, window, end); value < best.value) best = {end, value, {}};
    at = end;
    if (at >= slot_end) ++slot;
  }
  if (best.value < kMipInfinity) fill(job, best);
  return best;
}

void PricedRun::fill(const LateJob& job, WholeRun& run) const {
  std::vector<Segment> segments;
  const auto& edges = grid_.edges;
  std::size_t slot = std::size_t(std::upper_bound(edges.begin(), edges.end(), job.release) - edges.begin()) - 1;
  for (double at = job.release; at < run.end; ++slot) {
    const double end = slot < grid_.slots() ? std::min(run.end, edges[slot + 1]) : run.end;
    add_hull(job, slot, at, end, kMipInfinity, segments);
    at = end;
  }
  std::stable_sort(segments.begin(), segments.end());
  std::vector<double> minutes(grid_.slots() * grid_.classes);
  std::vector<std::pair<double, double>> when(grid_.slots());
  double left = 1;
  for (const Segment& s : segments) {
    if (left <= 0) break;
    const double share = std::min(1.0, left / s.width);
    left -= share * s.width;
    if (s.slot >= grid_.slots()) continue;
    when[s.slot] = {s.from, s.to};
    minutes[s.slot * grid_.classes + std::size_t(s.more)] += share * (s.to - s.from);
    if (s.less >= 0) minutes[s.slot * grid_.classes + std::size_t(s.less)] -= share * (s.to - s.from);
  }
  for (std::size_t s = 0; s < grid_.slots(); ++s)
    for (std::size_t c = 0; c < grid_.classes; ++c)
      if (const double some = minutes[s * grid_.classes + c]; some > 1e-12)
        run.pieces.push_back({when[s].first, when[s].second, some, c});
}

}  // namespace smartmig
