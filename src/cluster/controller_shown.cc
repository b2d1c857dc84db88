// What a page shows of the controller's jobs and boards: records that say how each job is, those that have ended, and the
// joules of boards by the minute. Jobs are looked at when somebody asks.
#include <algorithm>

#include "base/json.h"
#include "base/users.h"
#include "cluster/controller.h"

namespace smartmig {
namespace {

JobStatus final_status(ClusterJob::Outcome outcome) {
  switch (outcome) {
    case ClusterJob::kCompleted:
      return JobStatus::kDone;
    case ClusterJob::kCancelled:
      return JobStatus::kCancelled;
    case ClusterJob::kTimedOut:
    case ClusterJob::kPastDeadline:
      return JobStatus::kTimedOut;
    case ClusterJob::kFailed:
    case ClusterJob::kLost:
      return JobStatus::kFailed;
  }
  return JobStatus::kFailed;
}

}  // namespace

void ClusterController::look_at(Tracked& job) {
  JobRecord& record = job.record;
  const ClusterJob& seen = job.seen;
  JobStatus status = JobStatus::kQueued;
  std::string reason;
  switch (job.way) {
    case Way::kWaiting:
      if (job.ready) break;
      status = JobStatus::kHeld;
      reason = why_waits(job);
      break;
    case Way::kPinning:
    case Way::kReserving:
    case Way::kReleased:
      status = JobStatus::kStarting;
      break;
    case Way::kRunning:
      status = JobStatus::kRunning;
      break;
    case Way::kStopping:
    case Way::kTakingBack:
    case Way::kLeft:
      status = JobStatus::kStopping;
      break;
  }
  const int gpu = job.gpu == kNoGpu ? -1 : int(index(job.gpu));
  const JobSlice slice = job.gpu == kNoGpu ? JobSlice{} : slice_of(model(job.gpu), job.where);
  if (job.way == Way::kWaiting) record.times.started = kNotYet;
  if (record.owner.name.empty()) record.owner.name = seen.user.empty() ? user_name(seen.uid) : seen.user;
  record.attempt = seen.restarts + (record.times.started != kNotYet ? 1 : 0);
  if (record.version > 0 && record.status == status && record.reason == reason && record.place.gpu == gpu &&
      record.place.slice == slice)
    return;
  record.status.found(status);
  record.reason = std::move(reason);
  record.place.gpu = gpu;
  record.place.slice = slice;
  if (options_.past) record.version = options_.past->next_version();
}

std::vector<const JobRecord*> ClusterController::shown_jobs() {
  std::vector<const JobRecord*> out;
  for (auto& [name, job] : jobs_) {
    look_at(job);
    out.push_back(&job.record);
  }
  std::sort(out.begin(), out.end(), [](const JobRecord* a, const JobRecord* b) { return a->id < b->id; });
  return out;
}

const JobRecord* ClusterController::shown_job(QueueId id) {
  Tracked* job = find(id);
  if (!job) return nullptr;
  look_at(*job);
  return &job->record;
}

void ClusterController::remember(Tracked& job) {
  if (!options_.past) return;
  look_at(job);
  JobRecord record = job.record;
  record.status.found(final_status(job.seen.outcome));
  record.reason = job.seen.phase != ClusterJob::kEnded  ? fmt::format("{} does not list it", words().name)
                  : record.status == JobStatus::kFailed ? fmt::format("{}: {}", words().name, job.seen.state)
                                                        : "";
  record.times.ended = job.seen.ended == UnixTime{} ? now() : job.seen.ended;
  record.energy.joules = job.joules_before;  // of the last run: when its agent has told them
  options_.past->ended(std::move(record));
}

void ClusterController::see_energy(Gpu& gpu, const Json& board) {
  gpu.watts = board.contains("watts_w") ? std::optional(board.value("watts_w", 0.0)) : std::nullopt;
  const auto told = board.find("energy");
  if (told == board.end() || !told->is_object()) return;
  EnergyTotals energy;
  energy.by_source_j[0] = told->value("counter_j", 0.0);
  energy.by_source_j[1] = told->value("power_integral_j", 0.0);
  energy.by_source_j[2] = told->value("model_j", 0.0);
  energy.jobs_j = told->value("jobs_j", 0.0);
  energy.idle_j = told->value("idle_j", 0.0);
  energy.unattributed_j = told->value("unattributed_j", 0.0);
  // An agent that begins to count anew, and the first word of one, tell of no joules that were drawn since the last.
  const double more = gpu.energy ? energy.booked_j() - gpu.energy->booked_j() : 0;
  gpu.energy = energy;
  if (!options_.past || more < 0) return;
  options_.past->boards_j += more;
  options_.past->figures.power.add(now(), more);
}

}  // namespace smartmig
