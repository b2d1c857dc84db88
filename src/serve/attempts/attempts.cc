#include "serve/attempts/attempts.h"

#include <signal.h>

#include <algorithm>

#include "base/json.h"
#include "serve/attempts/job_launch.h"

namespace smartmig {
namespace {

constexpr Time kFirstPause{1'000'000}, kLongestPause{30'000'000};

}  // namespace

void Attempts::prepare(const std::vector<LiveFleet::Effect>& effects) {
  for (const LiveFleet::Effect& effect : effects) {
    switch (effect.what) {
      case LiveFleet::Effect::kStart: {
        JobRecord* job = book_.find(session_.belief().record(effect.job));
        SMARTMIG_CHECK(job, "the policy started a job that has ended");
        if (session_.belief().row(job->id) != effect.job)
          break;  // the plan stopped it before it began: it is shown again
        if (table_.must_wait(*job, key_of(effect)))
          table_.postpone(job->id, effect);
        else
          begin(*job, effect);
        break;
      }
      case LiveFleet::Effect::kStop: {
        JobRecord* job = book_.find(session_.belief().record(effect.job));
        if (job) preempt(*job);
        break;
      }
      case LiveFleet::Effect::kDestroy:
        (table_.held(key_of(effect)) ? postponed_destroys_ : effects_).push_back(effect);
        break;
      case LiveFleet::Effect::kCreate:
        effects_.push_back(effect);
        break;
    }
  }
}

// The policy may stop what it started and what has not begun yet: then there is no process to stop.
// One that has not begun is withdrawn from the belief, which counted progress that it never made.
void Attempts::preempt(JobRecord& job) {
  const bool postponed = table_.postponed(job.id);
  table_.drop_postponed(job.id);
  if (job.status == JobStatus::kStarting && !table_.under_way(job)) {
    forget(job.id);
    undone_ = true;
    return transitions_.back_to_queue(job, "another job got its slice before it began", job.work.remaining);
  }
  if (is_waiting(job.status)) {
    if (!postponed) return;
    session_.withdraw(job.id);
    book_.queue_changed();
    undone_ = true;
    return;
  }
  if (job.stop_reason == StopReason::kNone) stop(job, StopReason::kPreempt);
}

void Attempts::begin_postponed() {
  std::erase_if(postponed_destroys_, [&](const LiveFleet::Effect& destroy) {
    if (table_.held(key_of(destroy))) return false;
    effects_.push_back(destroy);
    return true;
  });
  for (const auto& [job, effect] : table_.take_ready(book_, session_.belief())) begin(*job, effect);
}

void Attempts::begin(JobRecord& job, const LiveFleet::Effect& effect) {
  job.status.step(JobStatus::kStarting);
  job.reason.clear();
  if (job.prelaunch.began == kNotYet) ++job.attempt;  // else its processes wait for this slice
  job.place.gpu = int(index(effect.gpu));
  job.place.slice = slice_of(*session_.platform().model(effect.gpu).gpu, effect.where);
  job.place.device = boards_.device(job.place.gpu, effect.where);
  table_.take(key_of(effect), job.id);
  visible_.charge(job);
  book_.changed(job);
  starts_.push_back({job.id, effect});
}

void Attempts::stop(JobRecord& job, StopReason reason) {
  job.status.step(JobStatus::kStopping);
  job.stop_reason = reason;
  book_.changed(job);
  to_stop_.push_back(job.id);
}

void Attempts::forget(QueueId id) {
  std::erase_if(starts_, [&](const DecidedStart& start) { return start.job == id; });
  table_.leave(id);
  table_.drop_postponed(id);
}

void Attempts::left_slice(JobRecord& job, UnixTime when) {
  std::erase_if(starts_, [&](const DecidedStart& start) { return start.job == job.id; });
  table_.leave(job.id);
  job.place.load = boards_.attempt_ended(job, when);
}

void Attempts::carry_out() {
  for (const QueueId id : std::exchange(to_stop_, {})) {
    JobRecord* job = book_.find(id);
    if (!job || job->status != JobStatus::kStopping) continue;
    const bool checkpoint = job->spec.checkpoint_signal != 0 && job->stop_reason != StopReason::kCancel;
    const auto stopped = runner_.stop(attempt_of(*job), checkpoint ? job->spec.checkpoint_signal : 15,
                                      job->spec.grace.value_or(settings_.defaults.grace), job->stop_reason);
    if (!stopped)
      session_.note("stop_failed", fmt::format("\"job\":{},\"words\":{}", id, json_text(stopped.error().what)));
    crash_point();
  }
  for (const LiveFleet::Effect& effect : std::exchange(effects_, {})) {
    switch (effect.what) {
      case LiveFleet::Effect::kCreate:
        boards_.lanes().create(effect.gpu, effect.where);
        break;
      case LiveFleet::Effect::kDestroy:
        boards_.lanes().destroy(effect.gpu, effect.where);
        break;
      case LiveFleet::Effect::kStart:
      case LiveFleet::Effect::kStop:
        break;
    }
    crash_point();
  }
  for (DecidedStart& one : std::exchange(starts_, {})) {
    if (!may_start(one)) {
      starts_.push_back(std::move(one));
      continue;
    }
    start(one.effect);
    crash_point();
  }
}

// Soft slices share a board and its list by design: the runner alone tells there who is on which.
bool Attempts::may_start(DecidedStart& start) {
  if (const JobRecord* job = book_.find(start.job); job && table_.beginning(*job)) return false;  // ahead of its slice
  if (!runner_.begins_at_once()) return false;
  if (!boards_.isolated()) return true;
  const int gpu = int(index(start.effect.gpu));
  if (start.look == 0) start.look = boards_.look(gpu);
  return boards_.looked(gpu, start.look);
}

Result<Launch> Attempts::launch_of(const JobRecord& job, const LiveFleet::Effect& effect) {
  const Instance* instance = find_instance(boards_.at(job.place.gpu).board, effect.where);
  if (!instance) return lost_error("GPU {} has no slice {}", job.place.gpu, to_string(job.place.slice));
  SMARTMIG_TRY(Launch launch, launch_of_job(job, book_));
  SMARTMIG_TRY(Environment slice, boards_.lanes().environment(effect.gpu, *instance, job.owner.uid));
  launch.slice.insert(launch.slice.begin(), slice.begin(), slice.end());
  launch.device = job.place.device;
  if (runner_.fences_devices()) launch.device_nodes = boards_.lanes().device_nodes(effect.gpu, *instance);
  // On half the memory it may use as much of the host as on a whole slice; counted (HostShares::check) is half.
  const HostShare share =
      shares_.share_of(job, session_.platform().model(effect.gpu).slices_of_placement[index(effect.where)]);
  launch.cpus = share.cpus;
  launch.host_mem_mib = share.mem_mib;
  launch.new_privileges = settings_.containers.new_privileges && !job.spec.container.empty();
  if (emulated_) launch.emulated_kind = job.spec.kind.empty() ? "unknown" : job.spec.kind;
  launch.predicted = session_.cluster().state(session_.belief().row(job.id)).finish - session_.cluster().now();
  if (job.work.told > Time{0} && job.work.estimate > Time{0})  // an emulated job takes what its owner said
    launch.predicted =
        rounded(double(launch.predicted.count()) * double(job.work.told.count()) / double(job.work.estimate.count()));
  launch.remaining = job.work.remaining;
  return launch;
}

// Nothing of it has run, so it is as if the start had never been decided.
void Attempts::undo(JobRecord& job, const std::string& why) {
  left_slice(job, session_.now());
  session_.take_back(job.id);
  transitions_.back_to_queue(job, why, job.work.remaining);
  undone_ = true;
}

void Attempts::slice_is_gone(int gpu) {
  read_again(gpu, "one of its slices is gone; it accepts no jobs until its slices have been read again");
}

void Attempts::read_again(int gpu, std::string why) {
  session_.block(gpu);
  misread_[gpu] = session_.now();
  boards_.at(gpu).reread = std::move(why);
  boards_.lanes().sample(GpuId(std::uint32_t(gpu)));
}

// A daemon that is short of something says nothing about the job: it waits, and is tried again.
void Attempts::could_not_start(JobRecord& job, const Error& error) {
  left_slice(job, session_.now());
  // kBusy: of its board, where another user's processes keep this one's out (MPS).
  if (error.code != Error::kIo && error.code != Error::kTimeout && error.code != Error::kBusy) {
    job.times.ended = session_.now();
    if (table_.prelaunched(job)) (void)runner_.stop(attempt_of(job), SIGKILL, Time{0});
    return transitions_.finish(job, JobStatus::kFailed, error.what, false);
  }
  short_of_means(job, error.what);
}

void Attempts::short_of_means(JobRecord& job, const std::string& words) {
  if (shortage_.next_try <= session_.now()) {  // once for the starts of one step
    shortage_.pause = std::clamp(2 * shortage_.pause, kFirstPause, kLongestPause);
    shortage_.next_try = session_.now() + shortage_.pause;
    session_.note("shortage", "\"words\":" + json_text(words));
  }
  shortage_.words = words;
  transitions_.back_to_queue(job, "could not start, and smartmig will try again: " + words, job.work.remaining);
}

// What of its launch lies behind it is no part of its time on the slice.
void Attempts::granted(JobRecord& job) {
  job.prelaunch.hidden_s = 0;
  if (job.prelaunch.began == kNotYet) return;
  const auto called = runner_.first_cuda_call(attempt_of(job));
  book_grant(job, called);
  session_.note("granted",
                fmt::format("\"job\":{},\"attempt\":{},\"held_s\":{:.3f},\"at_cuda\":{}", job.id, job.attempt,
                            seconds(job.times.started - job.prelaunch.began), called.has_value()));
}

void Attempts::start(const LiveFleet::Effect& effect) {
  JobRecord* job = book_.find(table_.holder(key_of(effect)));
  if (!job || job->status != JobStatus::kStarting) return;
  const SliceKey slice = key_of(effect);
  const std::string name = fmt::format("{} of GPU {}", to_string(job->place.slice), job->place.gpu);
  if (const std::string words = guard_.silence(int(slice.first)); !words.empty()) {
    session_.note("start_refused", fmt::format("\"job\":{},\"gpu\":{},\"slice\":\"{}\",\"words\":{}", job->id,
                                               slice.first, to_string(job->place.slice), json_text(words)));
    undo(*job, fmt::format("not started on {}: {}", name, words));
    return read_again(int(slice.first), words + "; it accepts no jobs until it does");
  }
  if (const auto others = guard_.others_on(slice, attempt_of(*job))) {
    session_.note("start_refused", fmt::format("\"job\":{},\"gpu\":{},\"slice\":\"{}\",\"words\":{}", job->id,
                                               slice.first, to_string(job->place.slice), json_text(others.words)));
    undo(*job, fmt::format("not started on {}: {}", name, others.words));
    return guard_.refused(slice, others);
  }
  const auto launch = launch_of(*job, effect);
  if (!launch && (launch.error().code == Error::kLost || launch.error().code == Error::kNotFound)) {
    session_.note("slice_missing",
                  fmt::format("\"job\":{},\"gpu\":{},\"slice\":\"{}\",\"words\":{}", job->id, slice.first,
                              to_string(job->place.slice), json_text(launch.error().what)));
    undo(*job, fmt::format("not started on {}, which is gone: {}", name, launch.error().what));
    return slice_is_gone(int(slice.first));
  }
  if (!launch) return could_not_start(*job, launch.error());
  if (table_.prelaunched(*job)) {
    const auto given = runner_.grant(*launch);
    if (given) return has_begun(*job, session_.now());
    if (given.error().code != Error::kNotFound) return could_not_start(*job, given.error());
    left_slice(*job, session_.now());  // its exit comes next and says what follows
    return transitions_.back_to_queue(*job, "its processes have just ended", job->work.remaining);
  }
  job->prelaunch.began = kNotYet;  // what was to begin ahead never did
  table_.began(*job);
  table_.begins(*job);
  if (auto started = runner_.begin(*launch)) begun({attempt_of(*job), std::move(*started), session_.clock().steady()});
}

void Attempts::begun(const JobRunner::Begun& one) {
  if (!table_.told(one.id)) return;
  JobRecord* job = book_.find(QueueId(one.id.job));
  SMARTMIG_CHECK(job && job->attempt == one.id.attempt, "attempt {} of job {} began, and nobody expects it",
                 one.id.attempt, one.id.job);
  const LiveClock& clock = session_.clock();
  const Time since = clock.boot().empty() ? Time{0} : std::max(Time{0}, clock.steady() - one.at_steady);
  // kBusy: it runs already, an earlier daemon began it.
  if (one.result || one.result.error().code == Error::kBusy) return has_begun(*job, session_.now() - since);
  never_began(*job, one.result.error());
}

// It may have been told to stop meanwhile, and its exit follows.
void Attempts::has_begun(JobRecord& job, UnixTime at) {
  if (!shortage_.words.empty()) session_.note("shortage", "\"words\":\"over: jobs start again\"");
  shortage_.words.clear();
  shortage_.pause = Time{0};
  table_.began(job);
  if (job.status == JobStatus::kStarting) job.status.step(JobStatus::kRunning);
  job.times.started = at;
  granted(job);
  if (job.times.first_started == kNotYet) job.times.first_started = job.times.started;
  transitions_.started(job);
  boards_.attempt_began(job);
  book_.changed(job);
}

void Attempts::never_began(JobRecord& job, const Error& error) {
  table_.ended(attempt_of(job));
  if (job.status != JobStatus::kStopping) return could_not_start(job, error);
  stopped_before_it_began(job);
}

void Attempts::stopped_before_it_began(JobRecord& job) {
  left_slice(job, session_.now());
  if (job.stop_reason == StopReason::kCancel) return transitions_.finish(job, JobStatus::kCancelled, job.reason, false);
  transitions_.back_to_queue(job, "it was stopped before it began", job.work.remaining);
}

}  // namespace smartmig
