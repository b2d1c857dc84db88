#include "serve/attempts/attempt_ends.h"

#include <algorithm>

#include "base/json.h"
#include "serve/attempts/clock_steps.h"

namespace smartmig {
namespace {

constexpr int kMostOomRestarts = 8;
constexpr Time kLongRun = std::chrono::minutes(10);     // after which a server counts as sound
constexpr Time kLongestRest = std::chrono::minutes(5);  // before it starts again

}  // namespace

void AttemptEnds::take_exits() {
  std::vector<AttemptExit> exits = std::exchange(found_, {});
  if (std::string trouble = runner_.trouble(); trouble != trouble_) {
    session_.note("shortage",
                  "\"words\":" + json_text(trouble.empty() ? "over: ends of jobs can be read again" : trouble));
    trouble_ = std::move(trouble);
  }
  for (AttemptExit& exit : runner_.poll()) {
    place(exit);
    exits.push_back(std::move(exit));
  }
  std::stable_sort(exits.begin(), exits.end(), [](const AttemptExit& a, const AttemptExit& b) {
    return std::tie(a.ended, a.id) < std::tie(b.ended, b.id);
  });
  for (const AttemptExit& exit : exits) {
    if (!table_.ended(exit.id)) continue;
    if (JobRecord* job = book_.find(QueueId(exit.id.job)); job && job->attempt == exit.id.attempt) ended(*job, exit);
    memory_.forget(QueueId(exit.id.job));
    runner_.forget_memory(exit.id);
  }
  attempts_.begin_postponed();
}

void AttemptEnds::place(AttemptExit& exit) {
  JobRecord* job = book_.find(QueueId(exit.id.job));
  UnixTime unknown = kNotYet;
  place_exit(exit, job && job->attempt == exit.id.attempt ? job->times.started : unknown,
             job && job->prelaunch.began != kNotYet, session_.clock());
}

// Of an attempt that began before it had a slice. True: that settles it. One that failed without a slice, or without a
// CUDA call that was seen, may have failed for the want of a GPU; one that came to CUDA and ended well without a slice
// gave up waiting. Both run again with their slice from the beginning.
bool AttemptEnds::ended_ahead(JobRecord& job, const AttemptExit& exit) {
  const auto first_call = runner_.first_cuda_call(exit.id);
  if (first_call) job.prelaunch.to_cuda_s = seconds(*first_call);
  const UnixTime began = std::exchange(job.prelaunch.began, kNotYet);
  if (began == kNotYet) return false;
  const bool waits = is_waiting(job.status), placed = job.place.gpu >= 0;
  const auto granted = runner_.granted(exit.id);
  // The file's time is the host's, which may have been set since; the record's has moved with it.
  const bool without = !granted || exit.ended <= (job.times.started != kNotYet ? job.times.started : *granted);
  if (without) job.prelaunch.held_s += seconds(std::max(Time{0}, exit.ended - began));
  const bool called = first_call.has_value();
  if (job.stop_reason != StopReason::kNone || exit.never_started || exit.timed_out) return false;
  if (exit.code == 0 && !without) return false;
  if (exit.code == 0 && !called) {
    if (placed) attempts_.left_slice(job, exit.ended);
    leave_slice(job);
    job.times.started = began;
    if (job.times.first_started == kNotYet) job.times.first_started = began;
    job.times.ended = exit.ended;
    job.exit.code = 0;
    job.exit.signal = 0;
    attempts_.drop_postponed(job.id);
    transitions_.finish(job, JobStatus::kDone, "ended before it had a slice: it made no CUDA call", false);
    return true;
  }
  if (!without && called) return false;
  job.prelaunch.refused = fmt::format("attempt {}, which began {}, ended with {}", job.attempt,
                                      called ? "before its slice was free" : "ahead and made no CUDA call",
                                      exit.signal > 0 ? fmt::format("signal {}", exit.signal)
                                      : exit.code < 0 ? exit.words
                                                      : fmt::format("exit code {}", exit.code));
  if (placed) attempts_.left_slice(job, exit.ended);
  memory_.attempt_ended(job);
  const std::string reason = job.prelaunch.refused + ": it starts again with its slice";
  if (!waits) {
    transitions_.back_to_queue(job, reason, job.work.remaining);
    return true;
  }
  if (job.status == JobStatus::kQueued) job.reason = reason;
  session_.note("requeued",
                fmt::format("\"job\":{},\"attempt\":{},\"words\":{}", job.id, job.attempt, json_text(reason)));
  book_.changed(job);
  return true;
}

// It failed, and its slice is not there any more (a reset, a GPU that was lost).
bool AttemptEnds::has_lost_its_slice(const JobRecord& job, const AttemptExit& exit) const {
  if (job.stop_reason != StopReason::kNone || exit.code == 0 || exit.timed_out || exit.host_oom) return false;
  if (!boards_.known(job.place.gpu) || job.place.device.empty()) return false;
  return !boards_.has_device(job.place.gpu, job.place.device, job.owner.uid);
}

// That is no fault of the job. What has begun runs again only where that was asked for, as after any failure of a GPU.
bool AttemptEnds::without_its_slice(JobRecord& job, const AttemptExit& exit) {
  if (!exit.never_started && !job.spec.preemptible() && !job.spec.keep_alive) return false;
  const int gpu = job.place.gpu;
  const std::string slice = to_string(job.place.slice);
  job.exit.code = exit.code;
  job.exit.signal = exit.signal;
  memory_.attempt_ended(job);
  attempts_.left_slice(job, exit.ended);
  transitions_.back_to_queue(job, fmt::format("requeued: its slice {} of GPU {} is gone", slice, gpu),
                             job.work.remaining);
  return true;
}

// It was told to stop, and that order is not in a queue that was restored from before it: it counts all the same.
void AttemptEnds::remember_order(JobRecord& job, const AttemptExit& exit) {
  if (job.stop_reason != StopReason::kNone || exit.ordered == StopReason::kNone) return;
  job.stop_reason = exit.ordered;
  job.reason = "it was stopped by an order that is missing from the restored queue";
}

void AttemptEnds::ended(JobRecord& job, const AttemptExit& exit) {
  remember_order(job, exit);
  const int gpu = job.place.gpu;
  const bool lost = has_lost_its_slice(job, exit);
  if (exit.short_of_means && job.stop_reason == StopReason::kNone)
    never_began(job, exit);
  else if (!ended_ahead(job, exit) && !(lost && without_its_slice(job, exit)))
    judge(job, exit);
  if (lost) attempts_.slice_is_gone(gpu);  // for those that come next
}

void AttemptEnds::never_began(JobRecord& job, const AttemptExit& exit) {
  job.prelaunch.began = kNotYet;
  memory_.attempt_ended(job);
  attempts_.left_slice(job, exit.ended);
  attempts_.drop_postponed(job.id);
  attempts_.short_of_means(job, exit.words);
}

void AttemptEnds::judge(JobRecord& job, const AttemptExit& exit) {
  const ExitFacts facts{session_.share_left(job), session_.waits(job.id) || table_.postponed(job.id),
                        boards_.known(job.place.gpu) ? boards_.at(job.place.gpu).words : ""};
  const ExitVerdict verdict = verdict_of(job, exit, facts);
  memory_.attempt_ended(job);
  const int had_mib = boards_.slice_memory_mib(job.place.gpu, job.place.slice);
  job.exit.code = exit.code;
  job.exit.signal = exit.signal;
  attempts_.left_slice(job, exit.ended);
  job.counts.preempted += verdict.preempted;
  counts_.preemptions += verdict.preempted;
  switch (verdict.kind) {
    case ExitVerdict::kBackToQueue:
      return transitions_.back_to_queue(job, verdict.reason, verdict.remaining);
    case ExitVerdict::kAsBelieved:
      return transitions_.back_as_believed(job, verdict.reason, verdict.remaining);
    case ExitVerdict::kFails:
      job.times.ended = exit.ended;
      estimates_.forget(job.id);
      return failed(job, exit, verdict);
    case ExitVerdict::kEnds:
      if (verdict.status == JobStatus::kFailed && revive(job, exit, verdict)) return;
      job.times.ended = exit.ended;
      if (verdict.status == JobStatus::kDone) {
        estimates_.learn_from(job);
        if (const auto work = memory_.past_of(job, had_mib)) estimates_.learn_work(job, *work);
      } else if (verdict.status == JobStatus::kTimedOut) {
        estimates_.learn_cut(job);
      }
      estimates_.forget(job.id);
      return transitions_.finish(job, verdict.status, verdict.reason, verdict.completed);
  }
}

// A server begins again after a rest, which doubles with each short run in a row.
bool AttemptEnds::revive(JobRecord& job, const AttemptExit& exit, const ExitVerdict& verdict) {
  if (!job.spec.keep_alive || exit.never_started) return false;
  const Time ran = exit.ran.value_or(exit.ended - job.times.started);
  ++job.counts.revived;
  job.counts.quick_ends = ran >= kLongRun ? 0 : job.counts.quick_ends + 1;
  const Time rest = std::min(kLongestRest, Time{1'000'000} * (1 << std::clamp(job.counts.quick_ends - 1, 0, 9)));
  job.times.ended = kNotYet;
  job.spec.begin = session_.now() + rest;
  book_.respecified(job);
  transitions_.back_to_queue(
      job, fmt::format("{}; it starts again in {:.0f} s (--keep-alive)", verdict.reason, seconds(rest)), 1);
  return true;
}

void AttemptEnds::failed(JobRecord& job, const AttemptExit& exit, const ExitVerdict& verdict) {
  const int had = boards_.slice_memory_mib(job.place.gpu, job.place.slice),
            largest = session_.belief().largest_memory_mib(job.spec);
  const auto shortage = memory_.shortage(job, exit, had, settings_.oom.patterns);
  if (!shortage && revive(job, exit, verdict)) return;
  if (!shortage) return transitions_.finish(job, verdict.status, verdict.reason, verdict.completed);
  if (!job.spec.may_grow()) {
    estimates_.ran_out(job, had);
    return transitions_.finish(job, JobStatus::kFailed,
                               fmt::format("out of GPU memory on {}{}; {}", to_string(job.place.slice),
                                           shortage->words.empty() ? "" : " (" + shortage->words + ")",
                                           job.spec.once ? "--no-requeue forbids a restart"
                                                         : "--no-oom-retry forbids a restart on a larger slice"),
                               true);
  }
  const bool hopeless = shortage->certain && shortage->needed_mib > largest;
  const std::string told = shortage->words.empty() ? "" : " (" + shortage->words + ")";
  const std::string slice = to_string(job.place.slice);
  const bool fixed = job.spec.exclusive || !job.spec.profile.empty();  // it asked for this slice and no other
  if (had <= 0 || had >= largest || fixed || hopeless || job.counts.out_of_memory >= kMostOomRestarts) {
    const std::string limit =
        fixed ? fmt::format("the job allows no other ({})", size_words(job.spec))
              : fmt::format("no slice {} has more than {} MiB",
                            names_a_size(job.spec) ? "for " + size_words(job.spec) : "of this fleet", largest);
    return transitions_.finish(job, JobStatus::kFailed,
                               fmt::format("out of GPU memory on {}{}, and {}", slice, told, limit), true);
  }
  job.times.ended = kNotYet;
  ++job.counts.out_of_memory;
  ++counts_.oom_restarts;
  job.memory.mib = memory_.after_failure(job, had, *shortage, largest);
  estimates_.ran_out(job, had);
  if (const std::string never = transitions_.never_starts(job); !never.empty())
    return transitions_.finish(job, JobStatus::kFailed,
                               fmt::format("out of GPU memory on {}{}; on a larger slice, {}", slice, told, never),
                               true);
  transitions_.back_to_queue(job, fmt::format("out of memory on {}{}: restarts on a larger slice", slice, told), 1);
}

}  // namespace smartmig
