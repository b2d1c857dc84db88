#include "serve/attempts/job_launch.h"

#include <pwd.h>

#include <algorithm>
#include <cmath>

namespace smartmig {
namespace {

std::string home_of(std::uint32_t uid) {
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_dir;
  return "/";
}

// What a job can know of itself; the names of Slurm, too, since scripts look for them.
Environment variables_of(const JobRecord& job) {
  Environment out = {
      {"SMARTMIG_JOB_ID", fmt::format("{}", job.id)},
      {"SMARTMIG_JOB_NAME", title(job)},
      {"SMARTMIG_ATTEMPT", std::to_string(job.attempt)},
      {"SLURM_JOB_ID", fmt::format("{}", job.id)},
      {"SLURM_JOBID", fmt::format("{}", job.id)},
      {"SLURM_JOB_NAME", title(job)},
      {"SLURM_SUBMIT_DIR", job.spec.submit_directory.empty() ? job.spec.directory : job.spec.submit_directory},
      {"SLURM_RESTART_COUNT", std::to_string(job.attempt - 1)}};
  if (job.place.gpu >= 0) {
    out.push_back({"SMARTMIG_GPU", std::to_string(job.place.gpu)});
    out.push_back({"SMARTMIG_SLICE", to_string(job.place.slice)});
  }
  if (job.spec.port) out.push_back({"SMARTMIG_PORT", std::to_string(*job.spec.port)});
  if (job.spec.cpus > 0)  // Slurm sets it only where it was asked for
    out.push_back({"SLURM_CPUS_PER_TASK", fmt::format("{:.0f}", std::max(1.0, std::floor(job.spec.cpus)))});
  if (in_array(job)) {
    out.push_back({"SMARTMIG_ARRAY_JOB_ID", fmt::format("{}", job.array.id)});
    out.push_back({"SMARTMIG_ARRAY_TASK_ID", std::to_string(job.array.index)});
    out.push_back({"SLURM_ARRAY_JOB_ID", fmt::format("{}", job.array.id)});
    out.push_back({"SLURM_ARRAY_TASK_ID", std::to_string(job.array.index)});
    out.push_back({"SLURM_ARRAY_TASK_COUNT", std::to_string(job.array.count)});
    out.push_back({"SLURM_ARRAY_TASK_MIN", std::to_string(job.array.first)});
    out.push_back({"SLURM_ARRAY_TASK_MAX", std::to_string(job.array.last)});
    out.push_back({"SLURM_ARRAY_TASK_STEP", std::to_string(job.array.step)});
  }
  return out;
}

}  // namespace

Result<Launch> launch_of_job(const JobRecord& job, LiveJobs& book) {
  Launch launch;
  launch.id = attempt_of(job);
  launch.spec = job.spec;
  SMARTMIG_RETURN_IF_ERROR(book.add_launch(job, launch.spec));
  launch.shared = job.launch.id;
  launch.uid = job.owner.uid;
  launch.gid = job.owner.gid;
  launch.user = job.owner.name;
  launch.home = home_of(job.owner.uid);
  if (in_array(job))
    launch.task = {number(job.array.id), job.array.index, job.array.count,
                   job.array.first,      job.array.last,  job.array.step};
  launch.slice = variables_of(job);
  launch.remaining = job.work.remaining;
  launch.tell_cuda = job.spec.prelaunch.value_or(false);
  return launch;
}

}  // namespace smartmig
