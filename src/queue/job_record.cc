#include "queue/job_record.h"

#include <algorithm>

#include "base/check.h"
#include "base/printable.h"
#include "live/jobs/command_title.h"

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

void CheckedStatus::step(JobStatus to) {
  bool legal = false;
  switch (to) {
    case JobStatus::kRunning:
      legal = status_ == JobStatus::kStarting;
      break;
    case JobStatus::kStopping:
      legal = !is_final(status_);
      break;
    case JobStatus::kHeld:
    case JobStatus::kQueued:
    case JobStatus::kStarting:
    case JobStatus::kDone:
    case JobStatus::kFailed:
    case JobStatus::kCancelled:
    case JobStatus::kTimedOut:
      legal = is_waiting(status_);
      break;
  }
  SMARTMIG_CHECK(legal, "a job that is {} was to become {} without the end of an attempt", name_of(status_),
                 name_of(to));
  status_ = to;
}

// A profile's name begins with its compute slices.
void add_slice_time(JobRecord& job, UnixTime until) {
  if (job.times.started == kNotYet || job.place.slice.none() || until <= job.times.started) return;
  job.work.slice_s += std::atoi(job.place.slice.profile.c_str()) * seconds(until - job.times.started);
}

void book_grant(JobRecord& job, std::optional<Time> to_cuda) {
  const Time waited = std::max(Time{0}, job.times.started - job.prelaunch.began);
  job.prelaunch.held_s += seconds(waited);
  job.prelaunch.hidden_s = seconds(std::min(waited, to_cuda.value_or(waited)));
  if (to_cuda) job.prelaunch.to_cuda_s = seconds(*to_cuda);
}

void leave_slice(JobRecord& job) {
  job.suspended.reset();
  job.place.gpu = -1;
  job.place.slice = {};
  job.place.device.clear();
}

std::string title(const JobRecord& job) {
  return printable(job.spec.name.empty() ? command_title(job.spec.command) : job.spec.name);
}

std::string label(const JobRecord& job) {
  return !in_array(job) ? fmt::format("{}", job.id) : fmt::format("{}_{}", job.array.id, job.array.index);
}

}  // namespace smartmig
