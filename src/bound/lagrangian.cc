#include "bound/lagrangian.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/math.h"
#include "bound/one_piece.h"

namespace smartmig {
namespace {

// The own prices of each window, highest first.
class OwnRanks {
 public:
  OwnRanks(const Prices& prices) : prices_(prices), of_window_(prices.windows.count()) {
    for (const OwnPrices::Span& span : prices.own.spans)
      for (std::size_t i = 0; i < span.count; ++i) of_window_[span.first_window + i].push_back(span.at + i);
  }
  const std::vector<std::size_t>& at(std::size_t window) {
    std::vector<std::size_t>& ranked = of_window_[window];
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::size_t x, std::size_t y) { return prices_.own.values[x] > prices_.own.values[y]; });
    return ranked;
  }

 private:
  const Prices& prices_;
  std::vector<std::vector<std::size_t>> of_window_;
};

class FleetValue {
 public:
  FleetValue(const BoundProblem& problem, const Prices& prices, Supergradient* gradient, double temperature)
      : problem_(problem), prices_(prices), gradient_(gradient), temperature_(temperature), ranks_(prices) {}

  double run() {
    double value = 0;
    for (std::size_t w = 0; w < prices_.windows.count(); ++w) {
      ranked_ = &ranks_.at(w);
      earned_.assign(1, 0);
      for (std::size_t i = 0; i < ranked_->size() && i < kMostSlices; ++i)
        earned_.push_back(earned_.back() + prices_.own.values[(*ranked_)[i]]);
      for (std::size_t m = 0; m < problem_.configurations.size(); ++m) value += window_value(w, m);
    }
    return value;
  }

 private:
  static constexpr std::size_t kMostSlices = 16;

  double window_value(std::size_t w, std::size_t m) {
    const std::size_t classes = problem_.classes.size();
    const double gpu_minutes = problem_.gpus[m] * prices_.windows.length_min(w);
    const double* row = prices_.values.data() + w * classes;
    nets_.clear();
    for (const BoundProblem::Configuration& c : problem_.configurations[m]) {
      double net = c.cost - earned_[std::min(c.slices, earned_.size() - 1)];
      for (const auto& [k, count] : c.counts) net -= row[k] * count;
      nets_.push_back(net);
    }
    const auto cheapest = std::min_element(nets_.begin(), nets_.end());
    const double least = cheapest == nets_.end() ? 0 : std::min(0.0, *cheapest);
    if (gradient_ && temperature_ > 0)
      soft_supply(w, m, least, gpu_minutes);
    else if (gradient_ && least < 0)
      supply(w, problem_.configurations[m][std::size_t(cheapest - nets_.begin())], gpu_minutes);
    return gpu_minutes * least;
  }

  void supply(std::size_t w, const BoundProblem::Configuration& c, double minutes) {
    for (const auto& [k, count] : c.counts)
      gradient_->supply[w * problem_.classes.size() + std::size_t(k)] += minutes * count;
    for (std::size_t i = 0; i < c.slices && i < ranked_->size(); ++i) gradient_->own_supply[(*ranked_)[i]] += minutes;
  }

  // Configurations weighted by exp(-(net - least) / temperature), including the empty one (net 0).
  void soft_supply(std::size_t w, std::size_t m, double least, double gpu_minutes) {
    constexpr double kNegligible = 30;
    const auto weight = [&](double net) {
      return net - least > kNegligible * temperature_ ? 0 : deterministic_exp((least - net) / temperature_);
    };
    double total = weight(0);
    for (const double net : nets_) total += weight(net);
    for (std::size_t c = 0; c < nets_.size(); ++c)
      if (const double part = weight(nets_[c]) / total; part > 0)
        supply(w, problem_.configurations[m][c], gpu_minutes * part);
  }

  const BoundProblem& problem_;
  const Prices& prices_;
  Supergradient* gradient_;
  double temperature_;
  OwnRanks ranks_;
  const std::vector<std::size_t>* ranked_ = nullptr;
  std::vector<double> nets_, earned_;  // earned_[s]: from own prices, with s busy slices
};

}  // namespace

double lagrangian_value(const BoundProblem& problem, const Prices& prices, Supergradient* gradient,
                        double temperature) {
  const std::size_t classes = problem.classes.size(), windows = prices.windows.count();
  if (gradient) {
    gradient->demand.assign(windows * classes, 0);
    gradient->supply.assign(windows * classes, 0);
    gradient->own_demand.assign(prices.own.values.size(), 0);
    gradient->own_supply.assign(prices.own.values.size(), 0);
    gradient->ends.clear();
  }
  double idle_rate = problem.idle_rate;
  for (const EndPrice& end : prices.ends) idle_rate -= end.price;
  double value = idle_rate * problem.least_makespan + FleetValue(problem, prices, gradient, temperature).run();
  std::vector<double> least(prices.values.end() - std::ptrdiff_t(classes), prices.values.end());
  for (std::size_t w = 0; w < windows; ++w)
    for (std::size_t k = 0; k < classes; ++k) least[k] = std::min(least[k], prices.values[w * classes + k]);
  JobSubproblem pieces(problem, prices.windows);
  std::optional<OnePieceSubproblem> one_piece;
  if (problem.stops_cost) one_piece.emplace(problem, prices.windows, prices.values.data());
  std::size_t first = 0;  // jobs come sorted by release
  auto span = prices.own.spans.begin();
  auto end = prices.ends.begin();
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const BoundProblem::Job& job = problem.jobs[j];
    while (first < windows && double(prices.windows.edges[first + 1]) / 60e6 <= job.release) ++first;
    OwnRow own;
    double* own_demand = nullptr;
    if (span != prices.own.spans.end() && span->job == j) {
      own = {span->first_window, span->count, prices.own.values.data() + span->at};
      if (gradient) own_demand = gradient->own_demand.data() + span->at;
      ++span;
    }
    const bool has_end = end != prices.ends.end() && end->job == j;
    if (has_end) own.end_price = end++->price;
    constexpr double kNoDeadline = BoundProblem::kNoDeadline;
    const bool has_hold = job.options > 0 && job.hold > 0;
    double stopped = kNoDeadline, unstopped = kNoDeadline;
    if (!has_hold || job.hold < kNoDeadline)
      stopped = pieces.solve(job, first, prices.values.data(), least.data(), own);
    if (has_hold && job.hold < kNoDeadline) stopped += job.hold * one_piece->least_price(job, first);
    if (has_hold) unstopped = one_piece->solve(job, first, own);
    value += std::min(stopped, unstopped);
    if (!gradient) continue;
    if (has_end)
      gradient->ends.push_back((unstopped < stopped ? one_piece->end() : pieces.end()) - problem.least_makespan);
    if (unstopped < stopped)
      one_piece->add_demand(gradient->demand.data(), own_demand);
    else
      pieces.add_demand(gradient->demand.data(), own_demand);
  }
  if (gradient) gradient->pieces += pieces.pieces() + (one_piece ? one_piece->pieces() : 0);
  return value;
}

double ascend(const BoundProblem& problem, Prices& prices, const AscentOptions& options) {
  constexpr double kKeepFirst = 0.9, kKeepSecond = 0.99, kTemperature = 0.3, kEndStep = 0.1;
  const std::size_t classes = problem.classes.size(), count = prices.windows.count() * classes;
  double unit = 0.02 * problem.weights.tardiness;
  for (std::size_t k = 0; k < classes; ++k) unit = std::max(unit, problem.floor[k] / problem.classes[k].compute_slices);
  const std::size_t own = prices.own.values.size();
  std::vector<double> first(count + own + prices.ends.size()), second(first.size());
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
      prices.own.values = trial.own.values;
      prices.ends = trial.ends;
    }
    if (options.progress) options.progress(best);
    if (i >= options.iterations) return best;
    kept_first *= kKeepFirst;
    kept_second *= kKeepSecond;
    const auto step_of = [&](std::size_t x, double g) {
      first[x] = kKeepFirst * first[x] + (1 - kKeepFirst) * g;
      second[x] = kKeepSecond * second[x] + (1 - kKeepSecond) * g * g;
      return first[x] / (1 - kept_first) / (std::sqrt(second[x] / (1 - kept_second)) + 1e-9);
    };
    for (std::size_t w = 0; w * classes < count; ++w) {
      const double length = prices.windows.length_min(w);
      const double *demand = gradient.demand.data() + w * classes, *supply = gradient.supply.data() + w * classes;
      double sum = 0;
      for (std::size_t k = 0; k < classes; ++k) sum += problem.classes[k].compute_slices * (demand[k] - supply[k]);
      for (std::size_t k = 0; k < classes; ++k) {
        const std::size_t x = w * classes + k;
        const double slices = problem.classes[k].compute_slices;
        const double g = (options.per_type ? slices * (demand[k] - supply[k]) : sum) / length;
        trial.values[x] = std::max(0.0, trial.values[x] + slices * rate * step_of(x, g));
      }
    }
    for (const OwnPrices::Span& span : trial.own.spans)
      for (std::size_t y = span.at; y < span.at + span.count; ++y) {
        const double length = prices.windows.length_min(span.first_window + y - span.at);
        const double g = (gradient.own_demand[y] - gradient.own_supply[y]) / length;
        trial.own.values[y] = std::max(0.0, trial.own.values[y] + rate * step_of(count + y, g));
      }
    double ends = 0;
    for (std::size_t e = 0; e < trial.ends.size(); ++e) {
      double& price = trial.ends[e].price;
      const double step = kEndStep * problem.idle_rate * rate / (options.rate * unit);
      price = std::max(0.0, price + step * step_of(count + own + e, gradient.ends[e]));
      ends += price;
    }
    if (const double most = problem.idle_rate * (1 - 1e-9); ends > most)
      for (EndPrice& end : trial.ends) end.price *= most / ends;
  }
}

}  // namespace smartmig
