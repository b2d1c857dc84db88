#include "eval/run_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/check.h"
#include "base/math.h"
#include "eval/statistics.h"

namespace smartmig {
namespace {

constexpr double kScale = 3;           // wide: around the runs seen, anything is possible
constexpr double kDeviation = 0.08;    // of a command's curve from the curve assumed for it
constexpr double kDeviationSel = 0.4;  // the same from the mean of all curves, while they are not weighted yet
constexpr double kAlike = 0.7;         // log share within which deviations are correlated
constexpr double kLoad = kUsualSlowdown, kLoadSd = 0.3;
constexpr double kChange = 0.5;
constexpr double kChangedNoise = 0.1;  // additional noise of runs before a change: the curve may have changed, too
constexpr double kFarNumber = 3;       // larger differences of logarithms count as this
constexpr double kMoreIsLonger = 0.5;  // mean of a number's slope over its spread
constexpr double kLaunchSd = 0.07;

struct Choice {
  double value, weight;
};
constexpr Choice kNoises[] = {{0.03, 0.15}, {0.07, 0.35}, {0.15, 0.3}, {0.3, 0.15}, {0.7, 0.05}};
constexpr Choice kNumberSlopes[] = {{0.02, 0.4}, {0.4, 0.35}, {0.9, 0.25}};
constexpr Choice kVariants[] = {{0.03, 0.45}, {0.25, 0.4}, {0.8, 0.15}};

bool same_numbers(const RunNumbers& a, const RunNumbers& b) { return a == b; }

}  // namespace

RunModel::RunModel(std::vector<SeenRun> runs, const CurveSet& curves, int epoch, bool numbers)
    : runs_(std::move(runs)), epoch_(epoch), numbers_(numbers) {
  SMARTMIG_CHECK(!runs_.empty() && !curves.curves().empty(), "a model of no runs or curves");
  widen_odd_runs();
  std::vector<double> all;
  for (const SeenRun& run : runs_) all.push_back(run.log_s);
  centre_ = median_of(all);
  for (SeenRun& run : runs_) run.log_s -= centre_;
  spread_ = best_spread();
  lower_ = factor(spread_, kDeviation);
  weigh(curves);
}

// What larger counts on the command line mean before runs give evidence. Numbers below 1 are ignored.
double RunModel::expected_of(const RunNumbers& numbers, double spread) const {
  if (!numbers_) return 0;
  const RunNumbers& centre = runs_.front().place.numbers;
  double sum = 0;
  for (std::size_t j = 0; j < kRunNumbers; ++j)
    sum += std::clamp(std::max(0.0, numbers[j]) - std::max(0.0, centre[j]), -kFarNumber, kFarNumber);
  return kMoreIsLonger * spread * sum;
}

double RunModel::shared(const SeenRun& a, const SeenRun& b, const Spread& spread, double deviation) const {
  const RunNumbers& centre = runs_.front().place.numbers;
  double sum = kScale * kScale;
  sum += deviation * deviation * deterministic_exp(-std::abs(a.place.log_share - b.place.log_share) / kAlike);
  sum += kLoadSd * kLoadSd * a.place.load * b.place.load;
  for (std::size_t j = 0; numbers_ && j < kRunNumbers; ++j)
    sum += spread.numbers * spread.numbers * std::clamp(a.place.numbers[j] - centre[j], -kFarNumber, kFarNumber) *
           std::clamp(b.place.numbers[j] - centre[j], -kFarNumber, kFarNumber);
  if (same_numbers(a.place.numbers, b.place.numbers)) sum += spread.variant * spread.variant;
  if (a.command == b.command) {
    sum += a.apart * b.apart;
    if (a.epoch == b.epoch) sum += kChange * kChange;
  }
  return sum;
}

std::vector<double> RunModel::factor(const Spread& spread, double deviation) const {
  const std::size_t n = runs_.size();
  std::vector<double> lower(n * n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = shared(runs_[i], runs_[j], spread, deviation);
      if (i == j) {
        sum += spread.noise * spread.noise * runs_[i].age;
        if (runs_[i].epoch != epoch_ && runs_[i].command == 0) sum += kChangedNoise * kChangedNoise;
      }
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
      lower[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-9)) : sum / lower[j * n + j];
    }
  return lower;
}

void RunModel::solve(const std::vector<double>& lower, std::vector<double>& x) const {
  const std::size_t n = runs_.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= lower[i * n + k] * x[k];
    x[i] /= lower[i * n + i];
  }
}

void RunModel::solve_back(const std::vector<double>& lower, std::vector<double>& x) const {
  const std::size_t n = runs_.size();
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= lower[k * n + i] * x[k];
    x[i] /= lower[i * n + i];
  }
}

// A run that took many times as long as others of its size and numbers tells little, whatever the noise.
void RunModel::widen_odd_runs() {
  std::vector<double> factors(runs_.size(), 1);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::vector<double> alike, distances;
    for (const SeenRun& run : runs_)
      if (run.place.log_share == runs_[i].place.log_share && run.epoch == runs_[i].epoch &&
          run.command == runs_[i].command && same_numbers(run.place.numbers, runs_[i].place.numbers))
        alike.push_back(run.log_s);
    if (alike.size() < 3) continue;
    const double middle = median_of(alike);
    for (const double x : alike) distances.push_back(std::abs(x - middle));
    const double usual = std::max(0.1, 1.4826 * median_of(distances)), off = std::abs(runs_[i].log_s - middle);
    if (off > 4 * usual) factors[i] = off * off / (usual * usual);
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].age *= factors[i];
}

RunModel::Spread RunModel::best_spread() const {
  bool numbers_differ = false;
  for (const SeenRun& run : runs_)
    numbers_differ |= numbers_ && !same_numbers(run.place.numbers, runs_.front().place.numbers);
  Spread best{0.15, 0.4, 0.25};
  if (runs_.size() == 1) return best;
  const SizeCurve middle = power_curve(0.4);
  std::span<const Choice> slopes = kNumberSlopes, variants = kVariants;
  if (!numbers_differ) slopes = slopes.subspan(1, 1), variants = variants.subspan(1, 1);
  double most = -std::numeric_limits<double>::infinity();
  for (const Choice& noise : kNoises)
    for (const Choice& slope : slopes)
      for (const Choice& variant : variants) {
        const Spread one{noise.value, slope.value, variant.value};
        const std::vector<double> lower = factor(one, kDeviationSel);
        std::vector<double> rest;
        for (const SeenRun& run : runs_)
          rest.push_back(run.log_s - middle.at(run.place.log_share) - kLoad * run.place.load -
                         expected_of(run.place.numbers, slope.value));
        solve(lower, rest);
        double score = deterministic_log(noise.weight * slope.weight * variant.weight);
        for (std::size_t i = 0; i < rest.size(); ++i)
          score -= 0.5 * rest[i] * rest[i] + deterministic_log(lower[i * rest.size() + i]);
        if (score > most) most = score, best = one;
      }
  return best;
}

void RunModel::weigh(const CurveSet& curves) {
  const std::size_t n = runs_.size();
  std::vector<double> scores;
  double most = -std::numeric_limits<double>::infinity();
  for (const WeightedCurve& one : curves.curves()) {
    std::vector<double> rest(n);
    double score = one.log_weight;
    for (std::size_t r = 0; r < n; ++r) {
      const double there = one.curve.at(runs_[r].place.log_share);
      rest[r] =
          runs_[r].log_s - there - kLoad * runs_[r].place.load - expected_of(runs_[r].place.numbers, spread_.numbers);
      if (runs_[r].launch_share >= 0) {
        const double missing = runs_[r].launch_share - one.launch * deterministic_exp(-there);
        if (missing > 0) score -= 0.5 * missing * missing / (kLaunchSd * kLaunchSd) / double(n);
      }
    }
    solve(lower_, rest);
    for (const double x : rest) score -= 0.5 * x * x;
    scores.push_back(score);
    most = std::max(most, score);
  }
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = deterministic_exp(std::max(scores[i] - most, -40.0));
    if (weight < 1e-5) continue;
    Kept kept{curves.curves()[i], weight, {}};
    for (const SeenRun& run : runs_) kept.at_runs.push_back(kept.curve.curve.at(run.place.log_share));
    sum += weight;
    kept_.push_back(std::move(kept));
  }
  for (Kept& kept : kept_) kept.weight /= sum;
}

// The weight of each run for the asked one. `half`: an intermediate result, for variances.
std::vector<double> RunModel::weights_for(const SeenRun& asked, std::vector<double>& half) const {
  half.resize(runs_.size());
  for (std::size_t r = 0; r < runs_.size(); ++r) half[r] = shared(asked, runs_[r], spread_, kDeviation);
  solve(lower_, half);
  std::vector<double> weights = half;
  solve_back(lower_, weights);
  return weights;
}

std::vector<double> RunModel::doubts(std::span<const RunPlace> places) const {
  const std::size_t n = places.size();
  std::vector<SeenRun> asked(n);
  std::vector<std::vector<double>> half(n), by_curve(n);
  std::vector<double> means(n), out(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    asked[a].place = places[a];
    asked[a].epoch = epoch_;
    const std::vector<double> weights = weights_for(asked[a], half[a]);
    for (const Kept& kept : kept_) {
      double m = kept.curve.curve.at(places[a].log_share);
      for (std::size_t r = 0; r < runs_.size(); ++r) m -= weights[r] * kept.at_runs[r];
      by_curve[a].push_back(m);
      means[a] += kept.weight * m;
    }
  }
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      double sum = shared(asked[a], asked[b], spread_, kDeviation);
      for (std::size_t r = 0; r < runs_.size(); ++r) sum -= half[a][r] * half[b][r];
      for (std::size_t i = 0; i < kept_.size(); ++i)
        sum += kept_[i].weight * (by_curve[a][i] - means[a]) * (by_curve[b][i] - means[b]);
      out[a * n + b] = sum;
    }
  return out;
}

TimeBelief RunModel::at(const RunPlace& place) const {
  SeenRun asked;
  asked.place = place;
  asked.epoch = epoch_;
  std::vector<double> half;
  const std::vector<double> weights = weights_for(asked, half);
  double variance = shared(asked, asked, spread_, kDeviation);
  for (const double x : half) variance -= x * x;
  double rest = kLoad * place.load + expected_of(place.numbers, spread_.numbers), mean = 0, square = 0;
  for (std::size_t r = 0; r < runs_.size(); ++r)
    rest += weights[r] *
            (runs_[r].log_s - kLoad * runs_[r].place.load - expected_of(runs_[r].place.numbers, spread_.numbers));
  for (const Kept& kept : kept_) {
    double m = kept.curve.curve.at(place.log_share);
    for (std::size_t r = 0; r < runs_.size(); ++r) m -= weights[r] * kept.at_runs[r];
    mean += kept.weight * m;
    square += kept.weight * m * m;
  }
  TimeBelief out;
  out.log_s = centre_ + rest + mean;
  out.sd = std::sqrt(std::max(0.0, variance) + std::max(0.0, square - mean * mean));
  out.noise = spread_.noise;
  return out;
}

double RunModel::slowdown(const RunPlace& place) const {
  RunPlace alone = place, full = place;
  alone.load = 0;
  full.load = 1;
  return at(full).log_s - at(alone).log_s;
}

double RunModel::launch_share() const {
  double sum = 0;
  for (const Kept& kept : kept_) sum += kept.weight * kept.curve.launch;
  return sum;
}

WeightedCurve RunModel::curve() const {
  WeightedCurve out;
  RunPlace place;
  place.numbers = runs_.back().place.numbers;
  for (std::size_t i = 0; i < kCurveSizes; ++i) {
    place.log_share = deterministic_log(double(i + 1) / double(kCurveSizes));
    out.curve.log_time[i] = at(place).log_s;
  }
  const double whole = out.curve.log_time.back();
  for (double& x : out.curve.log_time) x -= whole;
  out.launch = launch_share();
  return out;
}

}  // namespace smartmig
