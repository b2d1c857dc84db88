#include "bound/checker.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "bound/checker_job.h"
#include "bound/checker_rounding.h"
#include "bound/checker_run.h"
#include "bound/least_times.h"

namespace smartmig {
namespace {

struct CheckedMix {
  std::vector<int> counts;
  double cost = 0;  // per minute, rounded down
};

class Checker {
 public:
  Checker(const Certificate& certificate, const Platform& platform, const JobTable& jobs)
      : c_(certificate), platform_(platform), jobs_(jobs) {}
  Result<double> run();

 private:
  Result<Ok> match();
  void weigh();
  std::vector<CheckedMix> configurations(std::size_t model) const;
  void rank_own_prices();
  double earned(const CheckedMix& c, std::size_t window) const;  // what the prices yield per minute, rounded up
  double makespan() const;
  double all_jobs() const;
  bool runs(std::size_t job, std::size_t type) const { return jobs_.work(JobId(job), TypeId(type)) >= Time{0}; }

  const Certificate& c_;
  const Platform& platform_;
  const JobTable& jobs_;
  std::size_t classes_ = 0;
  std::vector<std::size_t> class_of_;  // by slice type
  double energy_low_ = 0, energy_high_ = 0, tau_ = 0;
  std::vector<double> low_, high_;        // watts added on a class, additive models
  bool negative_ = false;                 // a job takes watts away: the minorant is not proven for that
  std::vector<bool> used_;                // whether any job runs on that class
  std::vector<std::vector<double>> own_;  // by window: its jobs' own prices, highest first
};

Result<Ok> Checker::match() {
  if (hash_of(jobs_.workload()) != c_.workload_hash || jobs_.size() != c_.jobs)
    return invalid(
        "the certificate is for another workload: {} jobs with hash {:016x} ({}), not {} jobs with hash {:016x}",
        c_.jobs, c_.workload_hash, c_.workload, jobs_.size(), hash_of(jobs_.workload()));
  if (platform_.spec() != c_.gpus) return invalid("the certificate is for {}, not for {}", c_.gpus, platform_.spec());
  if (c_.power_models.size() != platform_.models().size())
    return invalid("the certificate names {} power models, the fleet has {} GPU models", c_.power_models.size(),
                   platform_.models().size());
  for (std::size_t m = 0; m < c_.power_models.size(); ++m)
    if (c_.power_models[m] != platform_.models()[m].power.name())
      return invalid("the certificate is for power model {}, not {}", c_.power_models[m],
                     platform_.models()[m].power.name());
  classes_ = c_.classes.size();
  if (c_.prices.values.size() != c_.prices.windows.edges.size() * classes_)
    return invalid("the certificate's prices do not match its windows");
  std::int64_t last = -1;
  for (const OwnPrices::Span& span : c_.prices.own.spans) {
    if (span.job >= jobs_.size() || std::int64_t(span.job) <= last)
      return invalid("the certificate's own prices should name jobs below {} in increasing order, not job {}",
                     jobs_.size(), span.job);
    last = span.job;
    if (std::size_t(span.first_window) + span.count > c_.prices.windows.count() ||
        span.at + span.count > c_.prices.own.values.size())
      return invalid("the certificate's own prices of job {} lie outside its windows", span.job);
  }
  for (const SliceType& type : platform_.types()) {
    const std::string name =
        fmt::format("{}/{}", platform_.models()[std::size_t(type.model)].gpu->name(), type.compute_slices);
    const auto found = std::find(c_.classes.begin(), c_.classes.end(), name);
    if (found == c_.classes.end()) return invalid("the certificate has no prices for {}", name);
    class_of_.push_back(std::size_t(found - c_.classes.begin()));
  }
  last = -1;
  for (const EndPrice& end : c_.prices.ends) {
    if (end.job >= jobs_.size() || std::int64_t(end.job) <= last)
      return invalid("the certificate's end prices should name jobs below {} in increasing order, not job {}",
                     jobs_.size(), end.job);
    last = end.job;
  }
  return Ok{};
}

void Checker::weigh() {
  const double n = double(std::max<std::size_t>(1, jobs_.size()));
  tau_ = c_.objective == Objective::kEnergy ? 0 : 1;
  if (c_.objective == Objective::kEnergy) energy_low_ = energy_high_ = 1;
  if (c_.objective == Objective::kEt)
    energy_low_ = std::max(0.0, product_down(c_.a, n)), energy_high_ = product_up(c_.a, n);
  low_.assign(classes_, kInfinity);
  high_.assign(classes_, 0);
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    for (std::size_t t = 0; t < class_of_.size(); ++t) {
      if (!runs(j, t)) continue;
      const double watts = jobs_.added_watts(JobId(j), TypeId(t));
      negative_ |= watts < 0;
      low_[class_of_[t]] = std::min(low_[class_of_[t]], watts);
      high_[class_of_[t]] = std::max(high_[class_of_[t]], watts);
    }
  for (std::size_t k = 0; k < classes_; ++k) {
    used_.push_back(low_[k] < kInfinity);
    if (!used_[k]) low_[k] = 0;
  }
}

std::vector<CheckedMix> Checker::configurations(std::size_t model) const {
  const Platform::Model& m = platform_.models()[model];
  std::map<std::vector<int>, int> busy_of;
  for (const Layout layout : m.gpu->layouts(m.gpu->all_profiles())) {
    std::vector<int> counts(classes_);
    for (const PlacementId p : layout) ++counts[class_of_[index(m.type_of_placement[index(p)])]];
    busy_of[counts] = m.gpu->compute_used(layout);
  }
  std::vector<CheckedMix> out;
  for (const auto& [counts, busy] : busy_of) {
    // A busy slice runs one job. So there are no more busy slices than jobs, and none where no job runs.
    bool possible = busy > 0 && std::size_t(std::accumulate(counts.begin(), counts.end(), 0)) <= jobs_.size();
    for (std::size_t k = 0; k < classes_; ++k) possible = possible && (counts[k] == 0 || used_[k]);
    if (!possible) continue;
    double above_idle = m.power.is_table() ? difference_down(m.power.watts(busy, 0), m.power.idle()) : 0;
    if (!m.power.is_table()) {
      double y_low = 0, top_low = 0, spread_high = 0;
      for (std::size_t k = 0; k < classes_; ++k) {
        y_low = std::max(0.0, down(y_low + down(counts[k] * low_[k])));
        top_low = std::max(0.0, down(top_low + down(counts[k] * high_[k])));
        if (counts[k] > 0 && high_[k] > low_[k]) spread_high = up(spread_high + up(counts[k] * up(high_[k] - low_[k])));
      }
      above_idle = down(down(m.power.watts(busy, y_low)) - m.power.idle());
      if (m.power.watts(busy, 0) >= m.power.idle())
        above_idle = std::max(0.0, above_idle);  // jobs add watts, they never take any
      if (spread_high > 0 && c_.share > 0)       // else watts are least if the jobs add least
        above_idle = std::min(
            above_idle, down(down(down(m.power.watts(busy, top_low)) - up(c_.share * spread_high)) - m.power.idle()));
    }
    out.push_back({counts, product_down(above_idle >= 0 ? energy_low_ : energy_high_, above_idle)});
  }
  return out;
}

double Checker::earned(const CheckedMix& c, std::size_t window) const {
  double sum = 0;
  for (std::size_t k = 0; k < classes_; ++k)
    if (c.counts[k] > 0 && c_.prices.values[window * classes_ + k] > 0)
      sum = up(sum + up(c.counts[k] * c_.prices.values[window * classes_ + k]));
  if (window >= own_.size()) return sum;
  // Each job runs on one slice at a time, so no own price is earned twice.
  const auto slices = std::size_t(std::accumulate(c.counts.begin(), c.counts.end(), 0));
  for (std::size_t i = 0; i < std::min(slices, own_[window].size()); ++i) sum = up(sum + own_[window][i]);
  return sum;
}

void Checker::rank_own_prices() {
  own_.resize(c_.prices.windows.count());
  for (const OwnPrices::Span& span : c_.prices.own.spans)
    for (std::size_t i = 0; i < span.count; ++i)
      if (const double price = c_.prices.own.values[span.at + i]; price > 0)
        own_[span.first_window + i].push_back(price);
  for (std::vector<double>& window : own_) std::sort(window.begin(), window.end(), std::greater<>());
}

double Checker::makespan() const {
  double last = 0, slice_minutes = 0;
  for (std::size_t j = jobs_.size(); j-- > 0;) {
    double least = kInfinity, fastest = kInfinity;
    for (std::size_t t = 0; t < class_of_.size(); ++t) {
      if (!runs(j, t)) continue;
      const double work = minutes_low(jobs_.work(JobId(j), TypeId(t)).count());
      fastest = std::min(fastest, work);
      least = std::min(least, down(work * platform_.types()[t].compute_slices));
    }
    slice_minutes = down(slice_minutes + least);
    const double own = std::max(fastest, down(slice_minutes / platform_.total_compute_slices()));
    last = std::max(last, down(minutes_low(jobs_.job(JobId(j)).submit.count()) + own));
  }
  return last;
}

double Checker::all_jobs() const {
  CheckedJob in_pieces(c_.prices, classes_, tau_);
  CheckedRun in_one_piece(c_.prices, classes_, tau_);
  double sum = 0;
  std::vector<CheckedJob::Size> sizes;
  auto span = c_.prices.own.spans.begin();
  auto end = c_.prices.ends.begin();
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    sizes.clear();
    bool instant = false;
    for (std::size_t k = 0; k < classes_; ++k) {
      Time fastest = kNever;
      double watts = kInfinity;
      for (std::size_t t = 0; t < class_of_.size(); ++t) {
        if (class_of_[t] != k || !runs(j, t)) continue;
        fastest = std::min(fastest, jobs_.work(JobId(j), TypeId(t)));
        watts = std::min(watts, jobs_.added_watts(JobId(j), TypeId(t)));
      }
      if (fastest == kNever) continue;
      instant |= fastest == Time{0};
      const double charge = std::max(0.0, down(energy_low_ * down(c_.share * down(watts - low_[k]))));
      sizes.push_back({k, fastest.count(), charge});
    }
    if (instant) sizes.clear();
    const Job& job = jobs_.job(JobId(j));
    OwnRow own;
    if (span != c_.prices.own.spans.end() && span->job == j) {
      own = {span->first_window, span->count, c_.prices.own.values.data() + span->at};
      ++span;
    }
    if (end != c_.prices.ends.end() && end->job == j) own.end_price = end++->price;
    double least = kInfinity;
    const bool free = c_.world == BoundWorld::kFree || sizes.empty();
    if (free || job.restart >= Time{0}) least = in_pieces.least_cost(job.submit, job.deadline, sizes, own);
    if (!free && job.restart >= Time{0})  // to resume after a stop, it first holds a slice
      least = down(least + product_down(minutes_low(job.restart.count()), in_pieces.least_price(job.submit, sizes)));
    if (!free) least = std::min(least, in_one_piece.least_cost(job.submit, job.deadline, sizes, own));
    sum = down(sum + least);
  }
  return sum;
}

Result<double> Checker::run() {
  SMARTMIG_RETURN_IF_ERROR(match());
  if (jobs_.size() == 0) return 0.0;
  weigh();
  rank_own_prices();
  if (negative_)
    return invalid("a job of {} lowers the watts of its GPU: no bound is proven for such a power model",
                   jobs_.workload().source);
  double idle_watts = 0, fleet = 0;
  std::vector<double> gpus(platform_.models().size());
  for (std::size_t g = 0; g < platform_.gpus(); ++g) {
    gpus[std::size_t(platform_.model_index(GpuId(g)))] += 1;
    idle_watts = down(idle_watts + platform_.model(GpuId(g)).power.idle());
  }
  const std::size_t windows = c_.prices.windows.count();
  for (std::size_t m = 0; m < platform_.models().size(); ++m) {
    const std::vector<CheckedMix> all = configurations(m);
    for (const CheckedMix& c : all)
      if (c.cost < earned(c, windows))
        return invalid(
            "the certificate proves nothing: after its last window a GPU of {} would earn more than "
            "its energy costs, so there is no bound",
            platform_.models()[m].gpu->name());
    for (std::size_t w = 0; w < windows; ++w) {
      double least = 0;
      for (const CheckedMix& c : all) least = std::min(least, down(c.cost - earned(c, w)));
      const double length = up(double(c_.prices.windows.edges[w + 1] - c_.prices.windows.edges[w]) / 60e6);
      fleet = down(fleet + down(gpus[m] * down(length * least)));  // least <= 0: the longer, the smaller
    }
  }
  // The boards are on until the last end, and so at least until the end of each job with an end price.
  const double idle_rate = std::max(0.0, product_down(energy_low_, idle_watts));
  double ends = 0;
  for (const EndPrice& end : c_.prices.ends)
    if (end.price > 0) ends = up(ends + end.price);
  if (ends > idle_rate)
    return invalid("the certificate proves nothing: its end prices sum to {:g}, a minute of all boards idle costs {:g}",
                   ends, idle_rate);
  const double rest = ends == 0 ? idle_rate : std::max(0.0, down(idle_rate - ends));
  double total = down(product_down(rest, makespan()) + fleet);
  total = down(total + all_jobs());
  if (c_.objective != Objective::kEnergy) total = down(total / double(jobs_.size()));
  if (!std::isfinite(total)) return invalid("the certificate's numbers overflow: it proves nothing");
  return total;
}

}  // namespace

Result<double> value_at_prices(const Certificate& certificate, const Platform& platform, const JobTable& jobs) {
  SMARTMIG_RETURN_IF_ERROR(require_least_times(jobs));
  return Checker(certificate, platform, jobs).run();
}

Result<double> certified_bound(const Certificate& certificate, const Platform& platform, const JobTable& jobs) {
  SMARTMIG_TRY(const double value, value_at_prices(certificate, platform, jobs));
  return std::max(0.0, value);
}

Result<double> check_certificate(const Certificate& certificate, const Platform& platform, const JobTable& jobs) {
  SMARTMIG_TRY(const double proven, certified_bound(certificate, platform, jobs));
  if (!(certificate.bound <= proven))
    return invalid("the certificate claims {:.12g}, its prices prove only {:.12g}", certificate.bound, proven);
  return proven;
}

}  // namespace smartmig
