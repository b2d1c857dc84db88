#include "bound/lagrangian.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/math.h"
#include "bound/one_piece.h"

namespace smartmig {
namespace {

// Adds the supply of one window and model: configurations weighted by exp(-(net - least) / temperature), the empty one
// (net 0) included.
void soft_supply(const std::vector<BoundProblem::Configuration>& configurations, const std::vector<double>& nets,
                 double least, double temperature, double gpu_minutes, double* supply) {
  constexpr double kNegligible = 30;
  const auto weight = [&](double net) {
    return net - least > kNegligible * temperature ? 0 : deterministic_exp((least - net) / temperature);
  };
  double total = weight(0);
  for (const double net : nets) total += weight(net);
  for (std::size_t c = 0; c < nets.size(); ++c)
    if (const double part = weight(nets[c]) / total; part > 0)
      for (const auto& [k, count] : configurations[c].counts) supply[k] += gpu_minutes * count * part;
}

double fleet_value(const BoundProblem& problem, const Prices& prices, Supergradient* gradient, double temperature) {
  const std::size_t classes = problem.classes.size();
  double value = 0;
  std::vector<double> nets;
  for (std::size_t w = 0; w < prices.windows.count(); ++w) {
    const double length = prices.windows.length_min(w);
    const double* row = prices.values.data() + w * classes;
    for (std::size_t m = 0; m < problem.configurations.size(); ++m) {
      const auto& configurations = problem.configurations[m];
      nets.clear();
      for (const BoundProblem::Configuration& c : configurations) {
        double net = c.cost;
        for (const auto& [k, count] : c.counts) net -= row[k] * count;
        nets.push_back(net);
      }
      const auto cheapest = std::min_element(nets.begin(), nets.end());
      const double least = cheapest == nets.end() ? 0 : std::min(0.0, *cheapest),
                   gpu_minutes = problem.gpus[m] * length;
      value += gpu_minutes * least;
      if (!gradient) continue;
      double* supply = gradient->supply.data() + w * classes;
      if (temperature > 0) {
        soft_supply(configurations, nets, least, temperature, gpu_minutes, supply);
      } else if (least < 0) {
        for (const auto& [k, count] : configurations[std::size_t(cheapest - nets.begin())].counts)
          supply[k] += gpu_minutes * count;
      }
    }
  }
  return value;
}

}  // namespace

double lagrangian_value(const BoundProblem& problem, const Prices& prices, Supergradient* gradient,
                        double temperature) {
  const std::size_t classes = problem.classes.size(), windows = prices.windows.count();
  if (gradient) {
    gradient->demand.assign(windows * classes, 0);
    gradient->supply.assign(windows * classes, 0);
  }
  double value = problem.idle_cost + fleet_value(problem, prices, gradient, temperature);
  std::vector<double> least(prices.values.end() - std::ptrdiff_t(classes), prices.values.end());
  for (std::size_t w = 0; w < windows; ++w)
    for (std::size_t k = 0; k < classes; ++k) least[k] = std::min(least[k], prices.values[w * classes + k]);
  JobSubproblem pieces(problem, prices.windows);
  std::optional<OnePieceSubproblem> one_piece;
  if (problem.stops_cost) one_piece.emplace(problem, prices.windows, prices.values.data());
  std::size_t first = 0;  // jobs come by release
  for (const BoundProblem::Job& job : problem.jobs) {
    while (first < windows && double(prices.windows.edges[first + 1]) / 60e6 <= job.release) ++first;
    constexpr double kNever = BoundProblem::kNoDeadline;
    const bool may_stop = job.options == 0 || job.hold<kNever, has_hold = job.options> 0 && job.hold > 0;
    const double stopped = may_stop ? pieces.solve(job, first, prices.values.data(), least.data()) +
                                          (has_hold ? job.hold * one_piece->least_price(job, first) : 0)
                                    : kNever;
    const double unstopped = has_hold ? one_piece->solve(job, first) : kNever;
    value += std::min(stopped, unstopped);
    if (!gradient) continue;
    if (unstopped < stopped)
      one_piece->add_demand(gradient->demand.data());
    else
      pieces.add_demand(gradient->demand.data());
  }
  if (gradient) gradient->pieces += pieces.pieces() + (one_piece ? one_piece->pieces() : 0);
  return value;
}

double ascend(const BoundProblem& problem, Prices& prices, const AscentOptions& options) {
  constexpr double kKeepFirst = 0.9, kKeepSecond = 0.99, kTemperature = 0.3;
  const std::size_t classes = problem.classes.size(), count = prices.windows.count() * classes;
  double unit = 0.02 * problem.weights.tardiness;
  for (std::size_t k = 0; k < classes; ++k) unit = std::max(unit, problem.floor[k] / problem.classes[k].compute_slices);
  std::vector<double> first(count), second(count);
  Supergradient gradient;
  Prices trial = prices;
  double best = -std::numeric_limits<double>::infinity(), kept_first = 1, kept_second = 1;
  double rate = options.rate * unit;
  const double fall =
      options.iterations > 0 ? deterministic_exp(deterministic_log(options.decay) / options.iterations) : 1;
  for (int i = 0;; ++i, rate *= fall) {
    const double value = lagrangian_value(problem, trial, &gradient, kTemperature * rate);
    if (value > best) {
      best = value;
      prices.values = trial.values;
    }
    if (options.progress) options.progress(best);
    if (i >= options.iterations) return best;
    kept_first *= kKeepFirst;
    kept_second *= kKeepSecond;
    for (std::size_t w = 0; w * classes < count; ++w) {
      const double length = prices.windows.length_min(w);
      const double *demand = gradient.demand.data() + w * classes, *supply = gradient.supply.data() + w * classes;
      double sum = 0;
      for (std::size_t k = 0; k < classes; ++k) sum += problem.classes[k].compute_slices * (demand[k] - supply[k]);
      for (std::size_t k = 0; k < classes; ++k) {
        const std::size_t x = w * classes + k;
        const double slices = problem.classes[k].compute_slices;
        const double g = (options.per_type ? slices * (demand[k] - supply[k]) : sum) / length;
        first[x] = kKeepFirst * first[x] + (1 - kKeepFirst) * g;
        second[x] = kKeepSecond * second[x] + (1 - kKeepSecond) * g * g;
        const double step = first[x] / (1 - kept_first) / (std::sqrt(second[x] / (1 - kept_second)) + 1e-9);
        trial.values[x] = std::max(0.0, trial.values[x] + slices * rate * step);
      }
    }
  }
}

}  // namespace smartmig
