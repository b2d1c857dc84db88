#include "serve/daemon/recovery.h"

namespace smartmig {
namespace {

void never_began(JobRecord& job, DaemonState& state, Lifecycle& lifecycle) {
  if (job.stop_reason == StopReason::kCancel) return lifecycle.finish(job, JobStatus::kCancelled, job.reason, false);
  job.status = JobStatus::kQueued;
  job.stop_reason = StopReason::kNone;
  leave_slice(job);
  state.book.changed(job);
}

// Where its slice is, it is put back into the belief, with what it had left at `last`, while it still ran. Where it is
// gone, its exit will tell.
void resume(JobRecord& job, UnixTime last, DaemonState& state) {
  PlacementId where = kNoPlacement;
  if (state.boards.known(job.place.gpu))
    for (const Instance& instance : state.boards.at(job.place.gpu).board.instances)
      if (!job.place.device.empty() && instance.uuid == job.place.device) where = instance.placement;
  if (where == kNoPlacement || state.attempts.held({std::uint32_t(job.place.gpu), index(where)})) {
    job.reason = fmt::format("its slice {} on GPU {} is gone", to_string(job.place.slice), job.place.gpu);
    return;
  }
  state.attempts.take({std::uint32_t(job.place.gpu), index(where)}, job.id);
  // An error: the fleet has changed. It runs where it is, unseen.
  if (job.suspended) {
    (void)state.session.found_with(job, GpuId(std::uint32_t(job.place.gpu)), where, Suspensions::believed_left(job));
    return;
  }
  (void)state.session.found_running(job, GpuId(std::uint32_t(job.place.gpu)), where, last);
}

}  // namespace

Result<Ok> find_running(JobRunner& runner, DaemonState& state, Attempts& attempts, AttemptEnds& ends,
                        Suspensions& suspensions, Lifecycle& lifecycle) {
  std::vector<AttemptId> expected;
  std::vector<QueueId> held;
  for (const auto& [id, job] : state.book.live()) {
    if (!is_waiting(job.status)) expected.push_back(attempt_of(job));
    if (job.status == JobStatus::kHeld) held.push_back(id);
  }
  SMARTMIG_TRY(JobRunner::Found found, runner.recover(expected));
  const std::set<AttemptId> alive(found.running.begin(), found.running.end());
  std::map<AttemptId, AttemptExit> ended;
  for (AttemptExit& exit : found.ended) ended[exit.id] = std::move(exit);
  for (const AttemptId& id : expected) {
    JobRecord* job = state.book.find(QueueId(id.job));
    if (!job) continue;  // ended with one that it depends on
    if (!alive.count(id) && !ended.count(id)) {
      never_began(*job, state, lifecycle);
      continue;
    }
    state.attempts.began(*job);
    if (job->times.started == kNotYet) job->times.started = ended.count(id) ? ended[id].started : state.session.now();
    if (job->times.first_started == kNotYet) job->times.first_started = job->times.started;
    resume(*job, ended.count(id) ? ended[id].ended : state.session.now(), state);
    if (job->status == JobStatus::kStarting) job->status = JobStatus::kRunning;
    if (state.boards.known(job->place.gpu)) state.boards.attempt_began(*job);
    state.book.changed(*job);
    if (!alive.count(id)) continue;
    suspensions.again(*job);
    if (job->status == JobStatus::kStopping)
      attempts.stop_again(job->id);
    else if (state.boards.known(job->place.gpu) && state.boards.failing(job->place.gpu))
      attempts.stop(*job, StopReason::kGpuFailed);
  }
  for (auto& [id, exit] : ended) ends.found_ended(std::move(exit));
  for (const QueueId id : held)
    if (JobRecord* job = state.book.find(id)) lifecycle.check_dependencies(*job);
  return Ok{};
}

}  // namespace smartmig
