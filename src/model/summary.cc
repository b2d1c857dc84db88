#include "model/summary.h"

#include <algorithm>
#include <vector>

namespace smartmig {
namespace {

double percentile99(std::vector<Time>& values) {  // nearest rank; reorders
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * 99 + 99) / 100 - 1;
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(rank), values.end());
  return minutes(values[rank]);
}

}  // namespace

double effective_a(double a, std::size_t gpus, double days) { return a * 8 / (double(gpus) * days); }

Time tardiness_of(const Job& job, Time finish) {
  return job.has_deadline() ? std::max(Time{0}, finish - job.deadline) : Time{0};
}

Summary summarize(const Cluster& cluster, double a, double days) {
  Summary s;
  s.gpus = cluster.gpus().size();
  s.jobs = cluster.jobs().size();
  s.days = days;
  s.a = s.a_eff = a;
  std::vector<Time> tardiness, turnaround;
  tardiness.reserve(s.jobs);
  turnaround.reserve(s.jobs);
  __extension__ using Sum = __int128;  // a million jobs, each three hundred years late, do not overflow it
  Sum late = 0, wait = 0, around = 0;
  const auto mean_minutes = [](Sum sum, double count) { return double(sum) / 60e6 / count; };
  Time longest{};
  double attributed = 0;
  for (std::size_t j = 0; j < s.jobs; ++j) {
    const JobState& state = cluster.states()[j];
    attributed += cluster.attributed_joules(JobId(j));
    if (state.phase != JobPhase::kDone) {
      ++s.unfinished_jobs;
      continue;
    }
    const Job& job = cluster.jobs().job(JobId(j));
    tardiness.push_back(tardiness_of(job, state.finish));
    turnaround.push_back(state.finish - job.submit);
    late += tardiness.back().count();
    around += turnaround.back().count();
    wait += (state.first_start - job.submit).count();
    longest = std::max(longest, tardiness.back());
    s.late_jobs += tardiness.back() > Time{0};
  }
  s.energy_joules = cluster.total_joules();
  s.idle_joules = s.energy_joules - attributed;
  s.energy_wmin = watt_minutes(s.energy_joules);
  s.energy_kwh = kilowatt_hours(s.energy_joules);
  s.makespan_min = minutes(cluster.now());
  if (!tardiness.empty()) {
    const double done = double(tardiness.size());
    s.mean_tardiness_min = mean_minutes(late, done);
    s.mean_wait_min = mean_minutes(wait, done);
    s.mean_turnaround_min = mean_minutes(around, done);
    s.max_tardiness_min = minutes(longest);
    s.p99_tardiness_min = percentile99(tardiness);
    s.p99_turnaround_min = percentile99(turnaround);
  }
  s.et_sum = a * s.energy_wmin + s.mean_tardiness_min;
  s.et = s.et_sum / (a + 1);
  double busy = 0;
  for (const GpuState& gpu : cluster.gpus())
    busy += double(gpu.slice_us) + double(gpu.busy_slices) * double((cluster.now() - gpu.since).count());
  if (cluster.now() > Time{0})
    s.utilisation =
        std::min(1.0, busy / (double(cluster.platform().total_compute_slices()) * double(cluster.now().count())));
  s.events = cluster.counters().arrivals + cluster.counters().completions;
  s.repartitions = cluster.counters().repartitions;
  s.preemptions = cluster.counters().preemptions;
  s.moves = cluster.counters().moves;
  return s;
}

}  // namespace smartmig
