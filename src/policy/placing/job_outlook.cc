#include "policy/placing/job_outlook.h"

#include <algorithm>
#include <cmath>

namespace smartmig {

JobTimes job_times_at(std::vector<double>& rows, std::size_t job, std::size_t types) {
  double* const row = &rows[job * job_times_row(types)];
  return {{row, types}, row[types], row[types + 1]};
}

void read_job_times(const Cluster& cluster, JobId job, std::span<const TypeId> types, const JobTimes& out) {
  out.least = HUGE_VAL;
  for (std::size_t t = 0; t < types.size(); ++t) {
    const Time left = cluster.remaining_on(job, types[t]);
    out.on[t] = left == kCannotRun ? HUGE_VAL : minutes(std::max(left, Time{1}));
    out.least = std::min(out.least, out.on[t]);
  }
  const Time deadline = cluster.jobs().job(job).deadline;
  out.slack = deadline == kNever ? HUGE_VAL : minutes(deadline) - minutes(cluster.now());
}

double busy_watts(const Cluster& cluster, JobId job, TypeId type) {
  const SliceType& slice = cluster.platform().type(type);
  const PowerModel& power = cluster.platform().models()[std::size_t(slice.model)].power;
  if (!power.is_table()) return cluster.jobs().added_watts(job, type);
  return (power.table().back() - power.idle()) * slice.compute_slices / (double(power.table().size()) - 1);
}

JobOutlook outlook_of(const Cluster& cluster, JobId job, std::span<const TypeId> types, const JobTimes& times,
                      double w) {
  // Linearity: slice-minutes on the smallest slice / those on the fastest.
  double smallest = 0, fastest = 0, watt_minutes = HUGE_VAL;
  int smallest_slices = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    const double time = times.on[t];
    if (time == HUGE_VAL) continue;
    const int slices = cluster.platform().type(types[t]).compute_slices;
    watt_minutes = std::min(watt_minutes, busy_watts(cluster, job, types[t]) * time);
    if (smallest_slices == 0 || slices < smallest_slices) {
      smallest_slices = slices;
      smallest = time * slices;
    }
    if (time == times.least && fastest == 0) fastest = time * slices;
  }
  return {times.least, times.slack, std::clamp(fastest > 0 ? smallest / fastest : 1.0, 0.0, 1.0),
          times.least < HUGE_VAL ? w * watt_minutes / times.least : 0};
}

}  // namespace smartmig
