#include "serve/daemon/recovery.h"

#include <algorithm>

#include "serve/attempts/job_launch.h"

namespace smartmig {
namespace {

// Of one that a daemon before granted its slice.
void grant_again(const JobRecord& job, JobRunner& runner, LiveJobs& book) {
  if (const auto launch = launch_of_job(job, book)) (void)runner.grant(*launch);
}

// Begun before it had a slice, and never granted one: it waits as before, and so do its processes. What was about to
// be granted is decided anew. One whose grant was written has its slice.
bool still_ahead(JobRecord& job, JobRunner& runner, DaemonState& state) {
  if (job.prelaunch.began == kNotYet || job.status == JobStatus::kStopping) return false;
  if (job.status == JobStatus::kRunning) {
    if (!job.suspended && runner.granted(attempt_of(job))) grant_again(job, runner, state.book);
    return false;
  }
  const auto granted = job.status == JobStatus::kStarting ? runner.granted(attempt_of(job)) : std::nullopt;
  if (granted) {
    grant_again(job, runner, state.book);  // its time limit may not have begun
    job.times.started = *granted;
    book_grant(job, runner.first_cuda_call(attempt_of(job)));
    return false;
  }
  if (job.status == JobStatus::kStarting) {
    job.status.found(JobStatus::kQueued);
    leave_slice(job);
    state.book.changed(job);
  }
  state.attempts.began_ahead(job);
  return true;
}

void never_began(JobRecord& job, DaemonState& state, JobTransitions& transitions) {
  job.prelaunch.began = kNotYet;
  if (is_waiting(job.status)) return state.book.changed(job);
  if (job.stop_reason == StopReason::kCancel) return transitions.finish(job, JobStatus::kCancelled, job.reason, false);
  job.status.attempt_over(JobStatus::kQueued);
  job.stop_reason = StopReason::kNone;
  leave_slice(job);
  state.book.changed(job);
}

// The mean share of its board that those who still run there had beside it; who has ended since is not known any more.
double others_beside(const JobRecord& job, UnixTime last, const DaemonState& state) {
  const double ran = seconds(last - job.times.started);
  if (ran <= 0) return 0;
  const Platform::Model& model = state.session.platform().model(GpuId(std::uint32_t(job.place.gpu)));
  double slice_s = 0;
  for (const auto& [id, other] : state.book.live()) {
    if (id == job.id || is_waiting(other.status) || other.place.gpu != job.place.gpu) continue;
    const PlacementId where = placement_of(*model.gpu, other.place.slice);
    if (where == kNoPlacement || other.times.started == kNotYet) continue;
    slice_s += model.slices_of_placement[index(where)] *
               std::max(0.0, seconds(last - std::max(job.times.started, other.times.started)));
  }
  return slice_s / ran / model.gpu->compute_slices();
}

// Where its slice is, it is put back into the belief, with what it had left at `last`, while it still ran. Where it is
// gone, its exit will tell.
void resume(JobRecord& job, UnixTime last, DaemonState& state) {
  if (job.place.gpu < 0 && job.prelaunch.began != kNotYet) return;  // stopped before it had one
  PlacementId where = kNoPlacement;
  if (state.boards.known(job.place.gpu))
    for (const Instance& instance : state.boards.at(job.place.gpu).board.instances)
      if (!job.place.device.empty() && instance.uuid == job.place.device) where = instance.placement;
  if (where == kNoPlacement || state.attempts.held({std::uint32_t(job.place.gpu), index(where)})) {
    job.reason = fmt::format("its slice {} on GPU {} is {}", to_string(job.place.slice), job.place.gpu,
                             where == kNoPlacement ? "gone" : "another job's");
    return;
  }
  state.attempts.take({std::uint32_t(job.place.gpu), index(where)}, job.id);
  const bool crowds = state.session.belief().sharing().crowds();
  if (crowds) job.work.log_slowdown = state.estimates.log_slowdown(job);
  // An error: the fleet has changed. It runs where it is, unseen.
  if (job.suspended) {
    (void)state.session.found_with(job, GpuId(std::uint32_t(job.place.gpu)), where, Suspensions::believed_left(job));
    return;
  }
  (void)state.session.found_running(job, GpuId(std::uint32_t(job.place.gpu)), where, last,
                                    crowds ? others_beside(job, last, state) : 0);
}

}  // namespace

Result<Ok> find_running(JobRunner& runner, DaemonState& state, Attempts& attempts, AttemptEnds& ends,
                        Suspensions& suspensions, JobTransitions& transitions) {
  std::vector<AttemptId> expected;
  std::vector<QueueId> waiting;  // held, or ahead of their slices: a job that was taken over may have to be held
  for (const auto& [id, job] : state.book.live()) {
    if (!is_waiting(job.status) || job.prelaunch.began != kNotYet) expected.push_back(attempt_of(job));
    if (job.status == JobStatus::kHeld) waiting.push_back(id);
  }
  SMARTMIG_TRY(JobRunner::Found found, runner.recover(expected));
  const std::set<AttemptId> alive(found.running.begin(), found.running.end());
  std::map<AttemptId, AttemptExit> ended;
  for (AttemptExit& exit : found.ended) {
    ends.place(exit);
    ended[exit.id] = std::move(exit);
  }
  // What is alive has its slice before what the records have there.
  std::stable_partition(expected.begin(), expected.end(), [&](const AttemptId& id) { return alive.count(id) > 0; });
  for (const AttemptId& id : expected) {
    JobRecord* job = state.book.find(QueueId(id.job));
    if (!job) continue;  // ended with one that it depends on
    if (!alive.count(id) && !ended.count(id)) {
      never_began(*job, state, transitions);
      continue;
    }
    if (still_ahead(*job, runner, state)) {
      if (job->status == JobStatus::kQueued) waiting.push_back(job->id);
      continue;
    }
    state.attempts.began(*job);
    if (job->times.started == kNotYet) job->times.started = ended.count(id) ? ended[id].started : state.session.now();
    if (job->times.first_started == kNotYet) job->times.first_started = job->times.started;
    resume(*job, ended.count(id) ? ended[id].ended : state.session.now(), state);
    if (job->status == JobStatus::kStarting) job->status.step(JobStatus::kRunning);
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
  for (const QueueId id : waiting)
    if (JobRecord* job = state.book.find(id); job && is_waiting(job->status)) transitions.check_dependencies(*job);
  return Ok{};
}

}  // namespace smartmig
