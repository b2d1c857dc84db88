#include "research/learn/validation.h"

#include <cmath>

#include "sim/simulate.h"

namespace smartmig {

Result<EvalReport> Validation::run(const PolicyFile& file, Sampling sampling) {
  const std::size_t days = setup_->validation_days(std::size_t(config_.eval_days));
  const auto run_day = [&](const TrainingDay& day, Policy& policy,
                           const std::vector<Shape>& shapes) -> Result<Summary> {
    SMARTMIG_TRY(auto initial, initial_layouts(*setup_->platform, shapes));
    SMARTMIG_TRY(SimResult result,
                 simulate({setup_->platform, day.jobs, setup_->cost, std::move(initial), day.a_eff}, policy));
    if (result.refused > 0) return invalid("{} illegal actions; the last: {}", result.refused, result.last_refusal);
    return result.summary;
  };
  const auto options_of = [&](const TrainingDay& day) {
    PolicyOptions options;
    options.rule.a = setup_->a;
    options.rule.w = day.a_eff * double(day.jobs->size());
    options.rule.seed = std::uint64_t(config_.seed);
    return options;
  };
  std::vector<std::optional<Error>> errors(days);
  if (days_.empty()) {
    days_.resize(days);
    pool_.run(days, [&](std::size_t d, int) {
      const auto made = [&]() -> Result<Ok> {
        SMARTMIG_TRY(days_[d].day, make_training_day(*setup_, d, std::uint64_t(config_.eval_first_seed) + d));
        SMARTMIG_TRY(NamedPolicy named,
                     make_policy(config_.baseline, options_of(days_[d].day), setup_->cost, *setup_->platform));
        SMARTMIG_TRY(const Summary summary, run_day(days_[d].day, *named.policy, named.initial));
        days_[d].baseline_et = summary.et * days_[d].day.weight;
        return Ok{};
      }();
      if (!made) errors[d] = made.error();
    });
  }
  std::vector<Summary> summaries(days);
  pool_.run(days, [&](std::size_t d, int) {
    if (errors[d]) return;
    const auto made = [&]() -> Result<Ok> {
      SMARTMIG_TRY(auto controller,
                   MeanFieldRepartitioner::make(file, *setup_->platform, std::uint64_t(config_.seed), sampling));
      const auto shapes = controller->initial();
      SMARTMIG_TRY(auto placer, make_placer(setup_->placer, options_of(days_[d].day), setup_->cost));
      PairPolicy pair(std::move(controller), std::move(placer));
      SMARTMIG_TRY(summaries[d], run_day(days_[d].day, pair, shapes));
      summaries[d].et *= days_[d].day.weight;
      return Ok{};
    }();
    if (!made) errors[d] = made.error();
  });
  for (const auto& error : errors)
    if (error) {
      days_.clear();
      return *error;
    }
  EvalReport report;
  report.days = days;
  const double per_day = days > 0 ? 1.0 / double(days) : 0;
  for (std::size_t d = 0; d < days; ++d) {
    report.et += summaries[d].et * per_day;
    report.tardiness_min += summaries[d].mean_tardiness_min * per_day;
    report.energy_wmin += summaries[d].energy_wmin * per_day;
    report.baseline_et += days_[d].baseline_et * per_day;
  }
  report.difference = report.et - report.baseline_et;
  double square = 0;
  for (std::size_t d = 0; d < days; ++d) {
    const double off = summaries[d].et - days_[d].baseline_et - report.difference;
    square += off * off;
  }
  if (days > 1) report.half_width = 1.96 * std::sqrt(square / double(days - 1) / double(days));
  return report;
}

}  // namespace smartmig
