#include "research/tune/tune.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/rng.h"

namespace smartmig {
namespace {

struct TuningDay {
  Setting setting;
  Day day;
  double start_et = 1;
};

// The ET of each day under these weights.
Result<std::vector<double>> score_days(const std::vector<TuningDay>& days, const JobWeights& weights, int threads) {
  Contender contender{"market", "market", {}};
  contender.options.market_weights = weights;
  std::vector<Result<Summary>> results(days.size(), Result<Summary>(invalid("not run")));
  run_parallel(days.size(), threads,
               [&](std::size_t i) { results[i] = run_day(days[i].setting, contender, days[i].day); });
  std::vector<double> ets;
  for (std::size_t i = 0; i < days.size(); ++i) {
    if (!results[i]) return results[i].error();
    ets.push_back(results[i]->et);
  }
  return ets;
}

struct Weighing {
  double score;
  std::vector<double> x;
};

}  // namespace

Result<TuneOutcome> tune_planner(const TuneOptions& options,
                                 const std::function<void(int, double, const JobWeights&)>& tell) {
  std::vector<TuningDay> days;
  for (const TuneSet& set : options.sets) {
    if (!set.setting.cost.free())
      return invalid("under hardware costs there are no weights to search; use --cost paper");
    for (const std::uint64_t number : set.days) {
      SMARTMIG_TRY(Day day, make_day(set.setting, number));
      days.push_back({set.setting, std::move(day), 1});
    }
  }
  if (days.empty()) return invalid("there is no day to tune on; give workloads and seeds");
  SMARTMIG_TRY(const auto start, score_days(days, options.start, options.threads));
  for (std::size_t i = 0; i < days.size(); ++i) days[i].start_et = start[i];

  const auto fields = weight_fields();
  std::vector<std::size_t> free;  // the searched weights: those that are not 0
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (options.start.*fields[f].value > 0) free.push_back(f);
  const auto weights_at = [&](const std::vector<double>& x) {
    JobWeights out = options.start;
    for (std::size_t k = 0; k < free.size(); ++k)
      out.*fields[free[k]].value = options.start.*fields[free[k]].value * deterministic_exp(x[k]);
    return out;
  };
  const auto score = [&](const std::vector<double>& x) -> Result<double> {
    SMARTMIG_TRY(const auto ets, score_days(days, weights_at(x), options.threads));
    double total = 0;
    for (std::size_t i = 0; i < days.size(); ++i) total += ets[i] / days[i].start_et;
    return total / double(days.size());
  };

  const double d = double(free.size());
  const std::size_t parents = std::size_t(options.population) / 2;
  std::vector<double> share(parents);
  double sum = 0, squares = 0;
  for (std::size_t k = 0; k < parents; ++k)
    sum += share[k] = deterministic_log(double(parents) + 0.5) - deterministic_log(double(k) + 1);
  for (double& s : share) {
    s /= sum;
    squares += s * s;
  }
  const double mass = 1 / squares;
  const double c_step = (mass + 2) / (d + mass + 5), c_path = 4 / (d + 4);
  const double c_one = 2 / ((d + 1.3) * (d + 1.3) + mass) * (d + 2) / 3;
  const double c_many = std::min(1 - c_one, 2 * (mass - 2 + 1 / mass) / ((d + 2) * (d + 2) + mass) * (d + 2) / 3);
  const double expected_norm = std::sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));

  std::vector<double> mean(free.size(), 0), variance(free.size(), 1), step_path(free.size(), 0), path(free.size(), 0);
  double step = options.step;
  Rng rng(options.seed, 0);
  TuneOutcome outcome{options.start, 1, 0};
  const auto consider = [&](const std::vector<double>& x, double s) {
    if (s < outcome.score) outcome = {weights_at(x), s, outcome.evaluations};
    if (tell) tell(outcome.evaluations, outcome.score, outcome.weights);
  };
  while (outcome.evaluations < options.evaluations) {
    std::vector<Weighing> all;
    for (int p = 0; p < options.population; ++p) {
      Weighing candidate{0, std::vector<double>(free.size())};
      for (std::size_t k = 0; k < free.size(); ++k)
        candidate.x[k] = mean[k] + step * std::sqrt(variance[k]) * rng.normal();
      SMARTMIG_TRY(candidate.score, score(candidate.x));
      ++outcome.evaluations;
      consider(candidate.x, candidate.score);
      all.push_back(std::move(candidate));
    }
    std::stable_sort(all.begin(), all.end(), [](const Weighing& a, const Weighing& b) { return a.score < b.score; });
    const std::vector<double> before = mean;
    double norm = 0;
    for (std::size_t k = 0; k < free.size(); ++k) {
      mean[k] = 0;
      double spread = 0;
      for (std::size_t p = 0; p < parents; ++p) {
        mean[k] += share[p] * all[p].x[k];
        const double y = (all[p].x[k] - before[k]) / step;
        spread += share[p] * y * y;
      }
      const double y = (mean[k] - before[k]) / step;
      step_path[k] = (1 - c_step) * step_path[k] + std::sqrt(c_step * (2 - c_step) * mass) * y / std::sqrt(variance[k]);
      path[k] = (1 - c_path) * path[k] + std::sqrt(c_path * (2 - c_path) * mass) * y;
      variance[k] = (1 - c_one - c_many) * variance[k] + c_one * path[k] * path[k] + c_many * spread;
      norm += step_path[k] * step_path[k];
    }
    step *= deterministic_exp(c_step / (1 + c_step) * (std::sqrt(norm) / expected_norm - 1));
  }
  SMARTMIG_TRY(const double at_mean, score(mean));
  ++outcome.evaluations;
  consider(mean, at_mean);
  return outcome;
}

}  // namespace smartmig
