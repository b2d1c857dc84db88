#include "bound/paper_energy.h"

#include <vector>

#include "bound/preemptive_makespan.h"

namespace smartmig {

Result<double> paper_energy_bound_joules(const Platform& platform, const JobTable& jobs) {
  if (platform.models().size() != 1) return invalid("the paper's energy bound holds for one GPU model, not for {}", platform.spec());
  const GpuModel& gpu = *platform.models()[0].gpu;
  const PowerModel& power = platform.models()[0].power;
  if (!power.is_table()) return invalid("the paper's energy bound needs a power table by busy slices; '{}' depends on the job", power.name());
  const int slices = gpu.compute_slices();
  const double idle = power.table()[0], full = power.table()[std::size_t(slices)];
  for (int k = 1; k < slices; ++k)
    if (power.table()[std::size_t(k)] < idle + (full - idle) * k / slices)
      return invalid("the paper's energy bound does not hold: {} busy slices draw {} W, below the chord from idle to full", k, power.table()[std::size_t(k)]);

  std::vector<ReleasedJob> linear;
  double total = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Time one = kCannotRun;
    for (std::size_t p = 0; p < gpu.profiles().size(); ++p)
      if (gpu.profiles()[p].compute_slices == 1 && jobs.work(JobId(j), TypeId(p)) >= Time{0}) one = jobs.work(JobId(j), TypeId(p));
    if (one < Time{0}) return invalid("the paper's energy bound does not hold: job {} has no time on one slice", jobs.workload().name_of(j));
    for (std::size_t p = 0; p < gpu.profiles().size(); ++p) {
      const Time work = jobs.work(JobId(j), TypeId(p));
      // one microsecond for the rounding of the times themselves
      if (work >= Time{0} && double(work.count() + 1) * gpu.profiles()[p].compute_slices < double(one.count()))
        return invalid("the paper's energy bound does not hold: job {} is superlinear on {}", jobs.workload().name_of(j), gpu.profiles()[p].name);
    }
    const double processing = seconds(one) / slices;
    linear.push_back({seconds(jobs.job(JobId(j)).submit), processing});
    total += processing;
  }
  const double makespan = preemptive_makespan(linear, int(platform.gpus()));
  return full * total + idle * (double(platform.gpus()) * makespan - total);
}

}  // namespace smartmig
