#include "eval/time_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/math.h"
#include "eval/statistics.h"

namespace smartmig {
namespace {

constexpr int kRounds = 12;
constexpr double kUnequal = 1.25;  // works of at least this ratio distinguish launch from work
constexpr int kLaunchSteps = 48;

double log_rate(const FitPoint& point, double launch_s) {
  return deterministic_log(point.work / std::max(point.seconds - launch_s, 1e-3 * point.seconds));
}

// The nearest sequence that never falls: neighbours out of order take their weighted mean. Sizes without runs stay and
// give way.
void make_monotone(std::vector<double>& values, const std::vector<double>& weights) {
  struct Pool {
    double mean, weight;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < values.size(); ++i) {
    pools.push_back({values[i], std::max(weights[i], 1e-6), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& into = pools.back();
      into.mean = (into.mean * into.weight + last.mean * last.weight) / (into.weight + last.weight);
      into.weight += last.weight;
      into.count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.count; ++i) values[at++] = pool.mean;
}

double misfit(const std::vector<FitPoint>& points, const TimeFit& fit) {
  double sum = 0;
  for (const FitPoint& point : points)
    if (const auto s = fit.seconds(point)) sum += std::abs(deterministic_log(*s / point.seconds));
  return sum;
}

}  // namespace

std::optional<double> TimeFit::seconds(const FitPoint& point) const {
  if (point.task >= log_pace.size() || !log_pace[point.task]) return std::nullopt;
  return launch_s + point.work / deterministic_exp(*log_pace[point.task] + log_speed[point.size]);
}

TimeFit paced(const std::vector<FitPoint>& points, std::size_t tasks, TimeFit fit) {
  std::vector<std::vector<double>> seen(tasks);
  for (const FitPoint& point : points)
    seen[point.task].push_back(log_rate(point, fit.launch_s) - fit.log_speed[point.size]);
  fit.log_pace.assign(tasks, std::nullopt);
  for (std::size_t t = 0; t < tasks; ++t)
    if (!seen[t].empty()) fit.log_pace[t] = median_of(seen[t]);
  return fit;
}

TimeFit fit_speeds(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start,
                   double launch_s) {
  TimeFit fit;
  fit.launch_s = launch_s;
  fit.log_speed = start;
  for (int round = 0; round < kRounds; ++round) {
    fit = paced(points, tasks, std::move(fit));
    std::vector<std::vector<double>> seen(start.size());
    for (const FitPoint& point : points)
      seen[point.size].push_back(log_rate(point, launch_s) - *fit.log_pace[point.task]);
    std::vector<double> weights(start.size());
    for (std::size_t s = 0; s < start.size(); ++s) {
      weights[s] = double(seen[s].size());
      if (!seen[s].empty()) fit.log_speed[s] = median_of(seen[s]);
    }
    make_monotone(fit.log_speed, weights);
  }
  return paced(points, tasks, std::move(fit));
}

bool tells_launch(const std::vector<FitPoint>& points) {
  std::map<std::pair<std::size_t, std::size_t>, std::pair<double, double>> range;
  for (const FitPoint& point : points) {
    auto [at, fresh] = range.try_emplace({point.task, point.size}, point.work, point.work);
    at->second.first = std::min(at->second.first, point.work);
    at->second.second = std::max(at->second.second, point.work);
    if (at->second.second >= kUnequal * at->second.first) return true;
  }
  return false;
}

TimeFit fit_launch(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start) {
  double most = std::numeric_limits<double>::max();
  for (const FitPoint& point : points) most = std::min(most, 0.95 * point.seconds);
  double low = 0, high = most;
  TimeFit best;
  double least = std::numeric_limits<double>::max();
  for (int finer = 0; finer < 3; ++finer) {
    const double step = (high - low) / kLaunchSteps;
    for (int i = 0; i <= kLaunchSteps; ++i) {
      TimeFit fit = fit_speeds(points, tasks, start, low + i * step);
      const double error = misfit(points, fit);
      if (error < least - 1e-12) least = error, best = std::move(fit);
    }
    low = std::max(0.0, best.launch_s - step);
    high = std::min(most, best.launch_s + step);
  }
  return best;
}

}  // namespace smartmig
