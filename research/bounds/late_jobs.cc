#include "research/bounds/late_jobs.h"

namespace smartmig {

Result<std::vector<Machines>> make_machines(const Platform& platform, const TardinessOptions& options) {
  if (platform.models().size() != 1)
    return invalid("{} applies to one GPU model, not to {}", kTardinessName, platform.spec());
  const GpuModel& gpu = *platform.models()[0].gpu;
  if (options.layouts.empty()) {
    if (options.own_speeds)
      return invalid("{} with the jobs' own speeds needs the layouts it is to hold for", kTardinessName);
    return std::vector<Machines>{{gpu.compute_slices(), kNoType, int(platform.gpus())}};
  }
  if (options.layouts.size() != platform.gpus())
    return invalid("{} needs one layout for each of {} GPUs, not {}", kTardinessName, platform.gpus(),
                   options.layouts.size());
  std::vector<Machines> machines;
  for (std::size_t p = 0; p < gpu.profiles().size(); ++p) {
    Machines m{gpu.profiles()[p].compute_slices, TypeId(p), 0};
    for (const Shape& shape : options.layouts) m.count += shape.count(int(p));
    const auto same = std::find_if(machines.begin(), machines.end(), [&](const Machines& other) {
      return !options.own_speeds && other.slices == m.slices;
    });
    if (same != machines.end())
      same->count += m.count;
    else if (m.count > 0)
      machines.push_back(m);
  }
  if (machines.empty()) return invalid("{}: the layouts have no slice", kTardinessName);
  return machines;
}

Result<LateJob> make_job(const JobTable& jobs, JobId id, const LinearJob* linear,
                         const std::vector<Machines>& machines) {
  LateJob job{minutes(jobs.job(id).submit), minutes(jobs.job(id).deadline), {}};
  for (const Machines& m : machines) {
    const Time own = linear ? Time{} : jobs.work(id, m.type);
    if (own < Time{0})
      return invalid("{} with the jobs' own speeds needs a time of job {} on every slice of the layouts",
                     kTardinessName, jobs.workload().name_of(index(id)));
    const double work = linear ? linear->slice_s / 60 / m.slices : minutes(own);
    if (work <= 0) {
      job.speeds.clear();
      job.fastest = 0;
      break;
    }
    job.fastest = job.speeds.empty() ? work : std::min(job.fastest, work);
    job.slowest = std::max(job.slowest, work);
    job.speeds.push_back(1 / work);
  }
  job.second = job.fastest;
  for (double fastest_of_others = 0; const double speed : job.speeds)
    if (speed * job.fastest <= 1 - 1e-12 && speed > fastest_of_others) {
      fastest_of_others = speed;
      job.second = 1 / speed;
    }
  job.least = std::max(0.0, job.release + job.fastest - job.deadline);
  job.deadline += job.least;
  return job;
}

}  // namespace smartmig
