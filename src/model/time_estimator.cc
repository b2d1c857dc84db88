#include "model/time_estimator.h"

#include <algorithm>
#include <cmath>

namespace smartmig {
namespace {

constexpr double kStranger = 0.7, kNothingTold = 2;  // standard deviations
constexpr double kUntold = 6.4;                        // 10 minutes
constexpr double kShortest = 2;                        // standard deviations
constexpr double kTails = 0.85;
constexpr double kShiftRuns = 1, kSlopeRuns = 2, kNoiseRuns = 3;

}  // namespace

void TimeEstimator::Runs::add(double x, double r) {
  n += 1;
  const double dx = x - mean_x, dr = r - mean_r;
  mean_x += dx / n;
  mean_r += dr / n;
  xx += dx * (x - mean_x);
  xr += dx * (r - mean_r);
  rr += dr * (r - mean_r);
}

TimeEstimator::Line TimeEstimator::refined(const Line& general, const Runs& runs) {
  Line line;
  line.at = runs.mean_x;
  line.runs = runs.n + kShiftRuns;
  line.xx = runs.xx + kSlopeRuns;
  line.shift = (runs.n * runs.mean_r + kShiftRuns * general.value(runs.mean_x)) / line.runs;
  line.slope = (runs.xr + kSlopeRuns * general.slope) / line.xx;
  const double off = runs.mean_r - line.shift;
  const double residual = runs.rr - 2 * line.slope * runs.xr + line.slope * line.slope * runs.xx + runs.n * off * off;
  line.variance = (kNoiseRuns * general.variance + residual) / (kNoiseRuns + runs.n);
  return line;
}

BelievedTime TimeEstimator::believe(std::span<const std::string> groups, std::optional<double> told) const {
  const double x = told.value_or(kUntold), stranger = told ? kStranger : kNothingTold;
  const auto& known = told ? told_ : untold_;
  Line line;
  line.at = x;
  line.variance = stranger * stranger;
  for (const std::string& group : groups)
    if (const auto found = known.find(group); found != known.end()) line = refined(line, found->second);
  double variance = line.variance;
  if (line.runs > 0) variance *= 1 + 1 / line.runs + (x - line.at) * (x - line.at) / line.xx;
  return {x + line.value(x), kTails * std::sqrt(variance)};
}

void TimeEstimator::learn(std::span<const std::string> groups, std::optional<double> told, double took) {
  const double x = told.value_or(kUntold);
  const BelievedTime before = believe(groups, told);
  took = std::max(took, before.log_median - kShortest * before.spread);
  for (const std::string& group : groups) (told ? told_ : untold_)[group].add(x, took - x);
}

}  // namespace smartmig
