// The inputs of a job's value (job_value.h), read from the fleet: least time, slack, linearity, and the energy of its
// most efficient slice. The planner uses them to choose layouts, and the placer `value` for existing slices. Units:
// minutes, watts.
#pragma once
#include <span>
#include <vector>

#include "model/cluster.h"
#include "policy/placing/job_value.h"

namespace smartmig {

// Remaining minutes of a job on each of these types, HUGE_VAL where it does not run; then the least of them, and its
// slack.
struct JobTimes {
  std::span<double> on;
  double &least, &slack;
  bool late() const { return slack < 0.5 * least; }  // more than half of its least time is lost
};
inline std::size_t job_times_row(std::size_t types) { return types + 2; }
JobTimes job_times_at(std::vector<double>& rows, std::size_t job, std::size_t types);
void read_job_times(const Cluster& cluster, JobId job, std::span<const TypeId> types, const JobTimes& out);

// The watts of a busy slice; if watts depend only on slices, its share of a full GPU.
double busy_watts(const Cluster& cluster, JobId job, TypeId type);

// `w`: the weight of a watt-minute.
JobOutlook outlook_of(const Cluster& cluster, JobId job, std::span<const TypeId> types, const JobTimes& times,
                      double w);

}  // namespace smartmig
