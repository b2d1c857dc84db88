#include "eval/history_trial.h"

#include <algorithm>
#include <atomic>

#include "sim/peak_load.h"

namespace smartmig {
namespace {

constexpr int kMostTimesFleet = 4;
constexpr double kLeastTargetMin = 1;  // for a fleet that delays nobody, the target would be zero
constexpr double kSameDelay = 1e-9;    // minutes; equal delays may be summed in another order

Result<Summary> run_history(const HistoryQuestion& question, const Contender& contender, const Setting& setting) {
  SMARTMIG_TRY(JobTable jobs, JobTable::bind(question.workload, *setting.platform));
  return run_day(setting, contender, {0, std::make_shared<JobTable>(std::move(jobs))});
}

Result<Summary> run_on(const HistoryQuestion& question, const Contender& contender, int gpus) {
  const Platform::Model& model = question.setting.platform->models()[0];
  Setting setting = question.setting;
  SMARTMIG_TRY(Platform platform,
               Platform::parse(fmt::format("{}x{}", gpus, model.gpu->name()), question.setting.platform->power_spec()));
  setting.platform = std::make_shared<Platform>(std::move(platform));
  return run_history(question, contender, setting);
}

// The fewest GPUs that meet the target: above `low`, at most `high`.
Result<Ok> count_gpus(const HistoryQuestion& question, const Contender& contender, double target, HistoryRow& row) {
  const int fleet = int(question.setting.platform->gpus());
  const auto keeps = [&](const Summary& s) { return s.mean_tardiness_min <= target + kSameDelay; };
  int low = 0, high = fleet;
  Summary at_high = row.whole;
  while (!keeps(at_high)) {
    low = high;
    high *= 2;
    if (high > kMostTimesFleet * fleet) return Ok{};
    SMARTMIG_TRY(at_high, run_on(question, contender, high));
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    SMARTMIG_TRY(const Summary here, run_on(question, contender, middle));
    if (keeps(here)) {
      high = middle;
      at_high = here;
    } else {
      low = middle;
    }
  }
  row.gpus_needed = high;
  row.kwh_needed = at_high.energy_kwh;
  return Ok{};
}

}  // namespace

Result<HistoryAnswer> try_history(const HistoryQuestion& question, const std::function<void(double)>& progress) {
  const Setting& setting = question.setting;
  const std::size_t count = question.contenders.size();
  SMARTMIG_CHECK(count > 0, "no policy to try");
  HistoryAnswer answer;
  answer.sized = question.sizes && setting.platform->models().size() == 1;
  answer.peak_gpus = peak_gpus(*question.workload);
  answer.rows.resize(count);
  std::vector<std::optional<Error>> errors(count);
  const double steps = double(count) * (answer.sized ? 2 : 1) + (question.bounds ? 1 : 0);
  std::atomic<int> done{0};
  const auto step = [&] {
    if (progress) progress(double(++done) / steps);
  };
  const auto first_error = [&]() -> Result<Ok> {
    for (const auto& error : errors)
      if (error) return *error;
    return Ok{};
  };
  run_parallel(count, question.threads, [&](std::size_t c) {
    answer.rows[c].label = question.contenders[c].label;
    const auto summary = run_history(question, question.contenders[c], setting);
    if (!summary)
      errors[c] = summary.error();
    else
      answer.rows[c].whole = *summary;
    step();
  });
  SMARTMIG_RETURN_IF_ERROR(first_error());
  answer.target_min = question.target_min.value_or(std::max(kLeastTargetMin, answer.rows[0].whole.mean_tardiness_min));
  if (answer.sized) {
    run_parallel(count, question.threads, [&](std::size_t c) {
      if (const auto counted = count_gpus(question, question.contenders[c], answer.target_min, answer.rows[c]);
          !counted)
        errors[c] = counted.error();
      step();
    });
    SMARTMIG_RETURN_IF_ERROR(first_error());
  }
  if (question.bounds) {
    SMARTMIG_TRY(const JobTable jobs, JobTable::bind(question.workload, *setting.platform));
    SMARTMIG_TRY(answer.bounds, proven_bounds(*setting.platform, jobs, energy_weight(setting, *question.workload),
                                              {question.effort, {}}, bound_world(setting.cost)));
    step();
  }
  return answer;
}

}  // namespace smartmig
