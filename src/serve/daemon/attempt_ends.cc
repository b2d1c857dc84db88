#include "serve/daemon/attempt_ends.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr int kMostOomRestarts = 8;

}  // namespace

void AttemptEnds::take_exits() {
  std::vector<AttemptExit> exits = std::exchange(found_, {});
  for (AttemptExit& exit : runner_.poll()) exits.push_back(std::move(exit));
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

void AttemptEnds::ended(JobRecord& job, const AttemptExit& exit) {
  const ExitFacts facts{session_.share_left(job), session_.waits(job.id) || table_.postponed(job.id),
                        boards_.known(job.place.gpu) ? boards_.at(job.place.gpu).words : ""};
  const ExitVerdict verdict = verdict_of(job, exit, facts);
  memory_.attempt_ended(job);
  job.exit.code = exit.code;
  job.exit.signal = exit.signal;
  attempts_.left_slice(job, exit.ended);
  job.counts.preempted += verdict.preempted;
  counts_.preemptions += verdict.preempted;
  switch (verdict.kind) {
    case ExitVerdict::kBackToQueue:
      return lifecycle_.back_to_queue(job, verdict.reason, verdict.remaining);
    case ExitVerdict::kAsBelieved:
      return lifecycle_.back_as_believed(job, verdict.reason, verdict.remaining);
    case ExitVerdict::kFails:
      job.times.ended = exit.ended;
      return failed(job, exit, verdict);
    case ExitVerdict::kEnds:
      job.times.ended = exit.ended;
      if (verdict.status == JobStatus::kDone) estimates_.learn_from(job);
      return lifecycle_.finish(job, verdict.status, verdict.reason, verdict.completed);
  }
}

void AttemptEnds::failed(JobRecord& job, const AttemptExit& exit, const ExitVerdict& verdict) {
  const int had = boards_.slice_memory_mib(job.place.gpu, job.place.slice),
            largest = session_.belief().largest_memory_mib();
  const auto shortage = memory_.shortage(job, exit, had, settings_.oom.patterns);
  if (!shortage) return lifecycle_.finish(job, verdict.status, verdict.reason, verdict.completed);
  const bool hopeless = shortage->certain && shortage->needed_mib > largest;
  const std::string told = shortage->words.empty() ? "" : " (" + shortage->words + ")";
  const std::string slice = to_string(job.place.slice);
  if (had <= 0 || had >= largest || hopeless || job.counts.out_of_memory >= kMostOomRestarts)
    return lifecycle_.finish(
        job, JobStatus::kFailed,
        fmt::format("out of GPU memory on {}{}, and no slice of this fleet has more than {} MiB", slice, told, largest),
        true);
  job.times.ended = kNotYet;
  ++job.counts.out_of_memory;
  ++counts_.oom_restarts;
  job.memory.mib = memory_.after_failure(job, had, *shortage, largest);
  estimates_.ran_out(job, had);
  lifecycle_.back_to_queue(job, fmt::format("out of memory on {}{}: restarts on a larger slice", slice, told), 1);
}

}  // namespace smartmig
