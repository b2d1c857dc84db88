#include "eval/comparison.h"

#include <fmt/format.h>

#include <mutex>
#include <numeric>

#include "sim/workload_windows.h"

namespace smartmig {

Comparison make_comparison(const Setting& setting, const std::vector<Contender>& contenders,
                           const std::vector<std::vector<Summary>>& runs, const std::vector<std::uint64_t>& seeds,
                           std::size_t baseline) {
  Comparison out;
  out.gpus = setting.platform->spec();
  out.workload = setting.workload;
  out.cost = setting.cost.name();
  if (!setting.estimates.exact()) out.estimates = to_string(setting.estimates);
  if (setting.load.restart) out.restart = to_string(*setting.load.restart);
  out.power = setting.platform->models()[0].power.name();
  out.a = runs[0][0].a;
  out.a_eff = runs[0][0].a_eff;
  out.seeds = seeds;
  out.days = days_in_words(setting, seeds);
  if (setting.windows) out.window_days = seconds(setting.windows->length()) / 86400;
  out.baseline = baseline;
  const auto column = [](const std::vector<Summary>& days, auto field) {
    std::vector<double> values;
    for (const Summary& day : days) values.push_back(double(field(day)));
    return values;
  };
  const auto et_of = [](const Summary& s) { return s.et; };
  const auto energy_of = [](const Summary& s) { return s.energy_wmin; };
  const auto tardiness_of_day = [](const Summary& s) { return s.mean_tardiness_min; };
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const auto mean = [&](auto field) { return mean_of(column(runs[c], field)); };
    ComparisonRow row;
    row.label = contenders[c].label;
    row.energy_wmin = mean(energy_of);
    row.energy_kwh = mean([](const Summary& s) { return s.energy_kwh; });
    row.tardiness_min = mean(tardiness_of_day);
    row.tardiness_deviation = deviation_of(column(runs[c], tardiness_of_day));
    row.p99_min = mean([](const Summary& s) { return s.p99_tardiness_min; });
    row.wait_min = mean([](const Summary& s) { return s.mean_wait_min; });
    row.turnaround_min = mean([](const Summary& s) { return s.mean_turnaround_min; });
    row.et = mean(et_of);
    row.late_percent = mean([](const Summary& s) { return 100.0 * double(s.late_jobs) / double(s.jobs); });
    row.preemptions = mean([](const Summary& s) { return s.preemptions; });
    row.repartitions = mean([](const Summary& s) { return s.repartitions; });
    row.et_difference = paired_difference(column(runs[c], et_of), column(runs[baseline], et_of));
    row.energy_difference = paired_difference(column(runs[c], energy_of), column(runs[baseline], energy_of));
    row.tardiness_difference =
        paired_difference(column(runs[c], tardiness_of_day), column(runs[baseline], tardiness_of_day));
    out.rows.push_back(row);
  }
  out.jobs = mean_of(column(runs[0], [](const Summary& s) { return s.jobs; }));
  return out;
}

std::string gap_text(double value, double bound) {
  return bound > 0 ? fmt::format("{:.1f} %", 100 * (value / bound - 1)) : "";
}

Result<ProvenBounds> mean_bounds(const Setting& setting, const std::vector<std::uint64_t>& seeds, int threads,
                                 const std::function<void(double)>& progress) {
  std::vector<std::optional<Result<ProvenBounds>>> days(seeds.size());
  std::vector<double> shares(seeds.size());
  std::mutex mutex;
  run_parallel(seeds.size(), threads, [&](std::size_t d) {
    const auto told = [&, d](double share, double) {
      const std::lock_guard lock(mutex);
      shares[d] = share;
      if (progress) progress(std::accumulate(shares.begin(), shares.end(), 0.0) / double(shares.size()));
    };
    const auto day = make_day(setting, seeds[d]);
    if (day)
      days[d] = proven_bounds(*setting.platform, *day->jobs, energy_weight(setting, day->jobs->workload()), {1, told},
                              bound_world(setting.cost));
    else
      days[d] = day.error();
  });
  ProvenBounds mean;
  mean.world = bound_world(setting.cost);
  for (const auto& day : days) {
    if (!*day) return day->error();
    mean.et_sum += (*day)->et_sum / double(days.size());
    mean.energy_wmin += (*day)->energy_wmin / double(days.size());
    mean.tardiness_min += (*day)->tardiness_min / double(days.size());
  }
  return mean;
}

}  // namespace smartmig
