// The ends of attempts and of jobs: what an exit means, who goes back to the queue, what is learnt from it.
#include <signal.h>

#include <algorithm>

#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

constexpr int kMostOomRestarts = 8;
constexpr double kPeakMargin = 1.25;

}  // namespace

// The end of a job. `completed`: it ran to its end, whatever its exit code; else it is taken out of the belief.
void Daemon::finish(JobRecord& job, JobStatus status, std::string reason, bool completed) {
  if (const JobId row = belief_->row(job.id); row != kNoJob) {
    fleet_->tell(completed ? Event::finished(belief_->inside(job.ended >= Time{0} ? job.ended : now()), row)
                           : Event::withdrawn(belief_->inside(job.ended >= Time{0} ? job.ended : now()), row));
    belief_->drop(job.id);
  }
  job.status = status;
  job.reason = std::move(reason);
  job.wish = JobRecord::kNothing;
  if (job.ended < Time{0}) job.ended = now();
  ++counts_.ended[std::size_t(status)];
  counts_.ended_tardiness_s += seconds(lateness(job, now(), {}));
  counts_.ended_joules += job.joules;
  journal_->note(belief_->inside(now()), "job_ended",
                 fmt::format("\"job\":{},\"state\":\"{}\",\"exit_code\":{},\"joules\":{:.3f}", job.id, name_of(status),
                             job.exit_code, job.joules));
  batch_.jobs.push_back(to_row(job, fresh_.erase(job.id) > 0));
  dirty_.erase(job.id);
  const std::uint64_t id = job.id;
  energy_dirty_.erase(id);
  if (job.attempt > 0) settling_[id] = job;
  ended_now_.push_back(std::move(job));
  jobs_.erase(id);
  admission_due_ = true;
  settle_dependents(id, status);
}

void Daemon::back_to_queue(JobRecord& job, std::string reason, double remaining) {
  if (const JobId row = belief_->row(job.id); row != kNoJob) {
    fleet_->tell(Event::withdrawn(belief_->inside(now()), row));
    belief_->drop(job.id);
  }
  job.status = JobStatus::kQueued;
  job.reason = std::move(reason);
  journal_->note(belief_->inside(now()), "requeued",
                 fmt::format("\"job\":{},\"attempt\":{},\"words\":{}", job.id, job.attempt, Json(job.reason).dump()));
  job.wish = JobRecord::kNothing;
  job.remaining = remaining;
  // A slice that was too large is not asked for again: what was seen, with room for what was not.
  if (!job.spec.mem_mib && job.oom_restarts == 0 && job.peak_mib > 0)
    job.mem_mib = std::min(belief_->largest_memory_mib(), int(kPeakMargin * job.peak_mib));
  job.started = Time{-1};
  job.gpu = -1;
  job.slice.clear();
  job.device.clear();
  changed(job);
  admission_due_ = true;
}

void Daemon::take_exits() {
  std::vector<AttemptExit> exits = std::exchange(found_ended_, {});
  for (AttemptExit& exit : world_.runner.poll()) exits.push_back(std::move(exit));
  std::stable_sort(exits.begin(), exits.end(), [](const AttemptExit& a, const AttemptExit& b) {
    return std::tie(a.ended, a.id) < std::tie(b.ended, b.id);
  });
  for (const AttemptExit& exit : exits) {
    const auto at = attempts_.find(exit.id);
    if (at == attempts_.end()) continue;
    attempts_.erase(at);
    if (JobRecord* job = find(exit.id.job); job && job->attempt == exit.id.attempt) attempt_ended(*job, exit);
    projections_.erase(exit.id.job);
    contexts_mib_.erase(exit.id.job);
    world_.runner.forget_memory(exit.id);
  }
  // Who waited for a slice to be left, or to leave one, can go now.
  for (auto it = postponed_.begin(); it != postponed_.end();) {
    JobRecord* job = find(it->first);
    const SliceKey key{index(it->second.gpu), index(it->second.where)};
    if (job && (attempts_.count({job->id, job->attempt}) || occupied_.count(key))) {
      ++it;
      continue;
    }
    const LiveFleet::Effect effect = it->second;
    it = postponed_.erase(it);
    if (!job || belief_->row(job->id) != effect.job) continue;
    begin_attempt(*job, effect);
    effects_.push_back(effect);
  }
}

void Daemon::attempt_ended(JobRecord& job, const AttemptExit& exit) {
  const bool checkpoints = job.spec.checkpoint_signal != 0;
  // One that had to be killed has saved nothing since it was started.
  const bool killed = exit.signal == SIGKILL && job.wish != JobRecord::kNothing;
  const double left = !checkpoints ? 1 : killed ? job.remaining : share_left(job);
  const std::string how = killed && !exit.words.empty() ? "; " + exit.words : "";
  if (const auto requests = requests_of(job); requests && contexts_mib_.count(job.id))
    job.peak_mib = std::max(job.peak_mib, int(requests->peak_bytes >> 20) + contexts_mib_[job.id]);
  job.exit_code = exit.code;
  job.exit_signal = exit.signal;
  leave_slice(job, exit.ended);
  switch (job.wish) {
    case JobRecord::kCancel:
      job.ended = exit.ended;
      return finish(job, JobStatus::kCancelled, job.reason, false);
    case JobRecord::kRequeue:
      return back_to_queue(job, "requeued by request" + how, 1);
    case JobRecord::kPreempt:
      if (exit.code == 0 && !checkpoints) break;  // it ended by itself meanwhile
      ++job.preemptions;
      ++counts_.preemptions;
      if (checkpoints && postponed_.count(job.id)) {  // a move: the belief has it on its new slice already
        job.status = JobStatus::kQueued;
        job.wish = JobRecord::kNothing;
        job.remaining = left;
        return changed(job);
      }
      return back_to_queue(job, "preempted" + how, left);
    case JobRecord::kLarger:
      if (exit.code == 0 && !checkpoints) break;  // it ended by itself meanwhile
      return back_to_queue(job, job.reason + how, left);
    case JobRecord::kQuarantine: {
      if (exit.code == 0 && !checkpoints) break;  // it ended by itself before it was stopped
      const std::string why = fmt::format("GPU {} failed: {}", job.gpu, gpus_[std::size_t(job.gpu)].trouble);
      if (job.spec.preemptible()) return back_to_queue(job, "requeued: " + why + how, left);
      job.ended = exit.ended;
      return finish(job, JobStatus::kFailed, why + "; submit it with --requeue to have it run again elsewhere", false);
    }
    case JobRecord::kLimit:
    case JobRecord::kNothing:
      break;
  }
  job.ended = exit.ended;
  if (exit.never_started) return finish(job, JobStatus::kFailed, exit.words, false);
  if (exit.code == 0) {
    learn_from(job);
    return finish(job, JobStatus::kDone, "", true);
  }
  if (exit.timed_out) return finish(job, JobStatus::kTimedOut, exit.words, true);
  if (exit.host_oom)
    return finish(job, JobStatus::kFailed, "it used more host memory than it may; give it more with --host-mem", true);
  if (const auto short_of = shortage(job, exit)) {
    const int had = slice_memory_mib(job.gpu, job.slice), largest = belief_->largest_memory_mib();
    const bool hopeless = short_of->certain && short_of->needed_mib > largest;
    const std::string told = short_of->words.empty() ? "" : " (" + short_of->words + ")";
    if (had > 0 && had < largest && !hopeless && job.oom_restarts < kMostOomRestarts) {
      job.ended = Time{-1};
      ++job.oom_restarts;
      ++counts_.oom_restarts;
      job.mem_mib = memory_after_failure(job, had, *short_of);
      PastRun run;
      run.peak_mib = job.peak_mib;
      run.out_of_memory_mib = had;
      history_.add(signature_of(job.spec.command, job.spec.script), run);
      return back_to_queue(job, fmt::format("out of memory on {}{}: restarts on a larger slice", job.slice, told), 1);
    }
    return finish(job, JobStatus::kFailed,
                  fmt::format("out of GPU memory on {}{}, and no slice of this fleet has more than {} MiB", job.slice,
                              told, largest),
                  true);
  }
  finish(job, JobStatus::kFailed,
         !exit.words.empty() ? exit.words
         : exit.signal > 0   ? fmt::format("killed by signal {}", exit.signal)
                             : fmt::format("exit code {}", exit.code),
         true);
}

void Daemon::learn_from(const JobRecord& job) {
  if (job.started < Time{0} || job.preemptions > 0) return;
  // Its time on the whole GPU follows from its time here by the curve that it was placed by.
  const JobId row = belief_->row(job.id);
  if (row == kNoJob || cluster().state(row).type == kNoType) return;
  const Time here = belief_->table()->work(row, cluster().state(row).type);
  if (here <= Time{0}) return;
  PastRun run;
  run.ran_s = seconds(job.ended - job.started);
  run.whole_over_slice = double(job.estimate.count()) * job.remaining / double(here.count());
  run.peak_mib = job.peak_mib;
  history_.add(signature_of(job.spec.command, job.spec.script), run);
}

// The share of the whole job that is left, as the belief has it.
double Daemon::share_left(const JobRecord& job) const {
  const JobId row = belief_->row(job.id);
  if (row == kNoJob) return job.remaining;
  const JobState& state = cluster().state(row);
  if (state.type == kNoType) return job.remaining;
  const Time whole = belief_->table()->work(row, state.type), left = cluster().remaining_on(row, state.type);
  if (whole <= Time{0}) return job.remaining;
  return std::clamp(job.remaining * double(left.count()) / double(whole.count()), 0.0, 1.0);
}

// What the end of a job sets off outside, once it is on record.
void Daemon::after_ends() {
  for (const JobRecord& job : std::exchange(ended_now_, {})) {
    if (settings_.hooks.on_finish.empty()) continue;
    JobShown shown;
    shown.now = now();
    hooks_.run(settings_.hooks.on_finish, to_json(job, shown).dump());
  }
}

}  // namespace smartmig
