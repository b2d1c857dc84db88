#include "research/bounds/paper_energy.h"

#include <vector>

#include "research/bounds/linearised.h"
#include "research/bounds/preemptive_makespan.h"

namespace smartmig {
namespace {

constexpr std::string_view kEnergyName = "the paper's energy bound";

}  // namespace

Result<double> paper_energy_bound_joules(const Platform& platform, const JobTable& jobs) {
  if (platform.models().size() != 1)
    return invalid("{} applies to one GPU model, not to {}", kEnergyName, platform.spec());
  const GpuModel& gpu = *platform.models()[0].gpu;
  const PowerModel& power = platform.models()[0].power;
  if (!power.is_table())
    return invalid("{} needs a power table by busy slices; '{}' depends on the job", kEnergyName, power.name());
  const int slices = gpu.compute_slices();
  const double idle = power.table()[0], full = power.table()[std::size_t(slices)];
  for (int k = 1; k < slices; ++k)
    if (power.table()[std::size_t(k)] < idle + (full - idle) * k / slices)
      return invalid("{} does not hold: {} busy slices draw {} W, below the chord from idle to full", kEnergyName, k,
                     power.table()[std::size_t(k)]);

  SMARTMIG_TRY(const std::vector<LinearJob> linear, linearise(platform, jobs, kEnergyName));
  std::vector<ReleasedJob> whole;  // on all slices of a GPU
  double total = 0;
  for (const LinearJob& job : linear) {
    whole.push_back({job.release_s, job.slice_s / slices});
    total += whole.back().processing;
  }
  const double makespan = preemptive_makespan(whole, int(platform.gpus()));
  return full * total + idle * (double(platform.gpus()) * makespan - total);
}

}  // namespace smartmig
