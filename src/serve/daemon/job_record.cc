#include "serve/daemon/job_record.h"

#include "base/printable.h"

namespace smartmig {

const char* name_of(JobStatus status) {
  static const char* const names[kJobStatuses] = {"held", "queued", "starting",  "running",  "stopping",
                                                  "done", "failed", "cancelled", "timed_out"};
  return names[int(status)];
}

const char* name_of(EstimateSource source) {
  static const char* const names[] = {"given", "history", "guess"};
  return names[int(source)];
}

// A profile's name begins with its compute slices.
void add_slice_time(JobRecord& job, UnixTime until) {
  if (job.times.started == kNotYet || job.place.slice.none() || until <= job.times.started) return;
  job.work.slice_s += std::atoi(job.place.slice.profile.c_str()) * seconds(until - job.times.started);
}

void leave_slice(JobRecord& job) {
  job.suspended.reset();
  job.place.gpu = -1;
  job.place.slice = {};
  job.place.device.clear();
}

std::string title(const JobRecord& job) {
  std::string name = job.spec.name;
  if (name.empty() && !job.spec.command.empty()) {
    name = job.spec.command[0];
    if (const auto slash = name.rfind('/'); slash != name.npos) name.erase(0, slash + 1);
  }
  return printable(name);
}

std::string label(const JobRecord& job) {
  return !in_array(job) ? fmt::format("{}", job.id) : fmt::format("{}_{}", job.array.id, job.array.index);
}

}  // namespace smartmig
