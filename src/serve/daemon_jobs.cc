// The life of jobs: acceptance, dependencies, estimates, ends.
#include <algorithm>
#include <fstream>

#include "model/speed.h"
#include "serve/daemon.h"
#include "serve/job_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kLogTail = 64 * 1024;
constexpr int kMostOomRestarts = 8;
constexpr double kPeakMargin = 1.25;

std::string tail_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = std::size_t(file.tellg());
  std::string text(std::min(size, kLogTail), '\0');
  file.seekg(std::streamoff(size - text.size()));
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(std::size_t(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

bool satisfied(Dependency::When when, JobStatus status) {
  switch (when) {
    case Dependency::kAfterOk:
      return status == JobStatus::kDone;
    case Dependency::kAfterNotOk:
      return status != JobStatus::kDone;
    case Dependency::kAfterAny:
      return true;
  }
  return false;
}

// Deadlines are soft, so one that cannot be kept is no error; its owner should know. A guess is no ground for words.
std::string deadline_warning(const JobRecord& job) {
  if (!job.spec.deadline) return {};
  const Time left = *job.spec.deadline - job.submitted;
  if (left <= Time{0}) return fmt::format("the deadline passed {:.0f} s ago: the job will be late", -seconds(left));
  if (job.estimate_source == EstimateSource::kGuess || job.estimate <= left) return {};
  return fmt::format("the deadline is in {:.0f} s, and on a whole GPU the job takes {:.0f} s: it will be late",
                     seconds(left), seconds(job.estimate));
}

}  // namespace

JobRecord* Daemon::find(std::uint64_t id) {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : &at->second;
}

Result<Ok> Daemon::room_for(std::size_t tasks, std::uint32_t uid, bool by_operator) const {
  if (settings_.queue > 0 && jobs_.size() + tasks > std::size_t(settings_.queue))
    return busy_error("the queue holds {} jobs and takes {} at most; try again when some have ended", jobs_.size(),
                      settings_.queue);
  if (settings_.user_queued <= 0 || by_operator) return Ok{};
  std::size_t waiting = 0;
  for (const auto& [id, job] : jobs_)
    waiting += job.uid == uid && (job.status == JobStatus::kQueued || job.status == JobStatus::kHeld);
  if (waiting + tasks > std::size_t(settings_.user_queued))
    return busy_error("you have {} jobs waiting, and may have {}; {} more must wait until some have started", waiting,
                      settings_.user_queued, tasks);
  return Ok{};
}

Result<std::vector<std::uint64_t>> Daemon::submit(const Caller& caller, std::vector<JobSpec> specs,
                                                  std::vector<std::string>& warnings) {
  if (!disk_trouble_.empty()) return io_error("no new work is accepted: {}", disk_trouble_);
  std::size_t tasks = 0;
  for (const JobSpec& spec : specs) tasks += std::max<std::size_t>(1, spec.array.size());
  SMARTMIG_RETURN_IF_ERROR(room_for(tasks, caller.uid, caller.operator_rights));
  std::vector<JobRecord> records;
  for (JobSpec& spec : specs) {
    if (spec.priority > 0 && !caller.operator_rights)
      return no_permission("priority {} is above 0, which root alone may give", spec.priority);
    if (!spec.kind.empty() && !SpeedTable::builtin().has(spec.kind))
      warnings.push_back(
          fmt::format("kind '{}' is not in the speed table: it is scheduled as an unknown one", spec.kind));
    for (const Dependency& d : spec.dependencies) {
      if (jobs_.count(d.job)) continue;
      SMARTMIG_TRY(const auto row, world_.store.job(d.job));
      if (!row) return not_found("the job that is to come first, {}, is not known", d.job);
    }
    const std::vector<int> array = std::exchange(spec.array, {});
    JobRecord base = as_record(caller, std::move(spec));
    // As wide as a job may ask for: a stored row must be readable by the next daemon.
    base.spec.priority = std::clamp(base.spec.priority, -1'000'000, 1'000'000);
    if (std::string words = deadline_warning(base); !words.empty()) warnings.push_back(std::move(words));
    if (const auto fits = belief_->fits(base); !fits) return fits.error();
    if (array.empty()) {
      records.push_back(std::move(base));
    } else {
      for (std::size_t i = 0; i < array.size(); ++i) {
        JobRecord task = base;
        task.array_id = records.size() + 1 - i;  // position of the first task, made an id below
        task.array_index = array[i];
        records.push_back(std::move(task));
      }
    }
  }
  std::vector<std::uint64_t> ids;
  const std::uint64_t first = last_id_;
  for (JobRecord& record : records) {
    record.id = ++last_id_;
    if (record.array_id) record.array_id += first;
    ids.push_back(record.id);
    JobRecord& job = jobs_.emplace(record.id, std::move(record)).first->second;
    job.status = JobStatus::kQueued;
    for (const Dependency& d : job.spec.dependencies)
      if (jobs_.count(d.job)) waiting_[d.job].push_back(job.id);
    accepted_.push_back(job.id);
    fresh_.insert(job.id);
    changed(job);
    ++counts_.submitted;
  }
  for (const std::uint64_t id : ids)
    if (JobRecord* job = find(id)) dependencies_hold(*job);
  admission_due_ = true;
  return ids;
}

// What a job will take on the whole GPU: as told, as its like took before, or a guess.
void Daemon::estimate(JobRecord& job) {
  const JobSpec& spec = job.spec;
  const Forecast known = history_.forecast(signature_of(spec.command, spec.script));
  if (spec.estimate) {
    job.estimate = *spec.estimate;
    job.estimate_source = EstimateSource::kGiven;
    if (spec.estimate_slices > 0) {  // from that size to the whole GPU, by the job's own curve
      JobRecord unit = job;
      unit.estimate = std::chrono::hours(1);
      const Time there = belief_->time_on(unit, spec.estimate_slices);
      if (there > Time{0}) job.estimate = rounded(double(spec.estimate->count()) * 3600e6 / double(there.count()));
    }
  } else if (known.whole_s) {
    job.estimate = from_seconds(*known.whole_s);
    job.estimate_source = EstimateSource::kHistory;
  } else {
    job.estimate =
        spec.time_limit ? std::min(*spec.time_limit, settings_.default_estimate) : settings_.default_estimate;
    job.estimate_source = EstimateSource::kGuess;
  }
  if (job.mem_mib < 0) {
    job.mem_mib = known.mem_mib.value_or(settings_.default_mem_mib);
    // What was learned must not keep a job out for ever: the largest slice is the most that can be asked for.
    if (job.mem_mib > 0) job.mem_mib = std::min(job.mem_mib, belief_->largest_memory_mib());
  }
}

bool Daemon::dependencies_hold(JobRecord& job) {
  for (const Dependency& d : job.spec.dependencies) {
    if (jobs_.count(d.job)) {
      job.status = JobStatus::kHeld;
      job.reason = fmt::format("waits for job {}", d.job);
      changed(job);
      return false;
    }
    const auto row = world_.store.job(d.job);
    const JobStatus status = row && *row ? JobStatus((*row)->status) : JobStatus::kFailed;
    if (!satisfied(d.when, status)) {
      finish(job, JobStatus::kCancelled,
             fmt::format("its dependency can never hold: job {} is {}", d.job, name_of(status)), false);
      return false;
    }
  }
  if (job.status == JobStatus::kHeld) {
    job.status = JobStatus::kQueued;
    job.reason.clear();
    changed(job);
  }
  return true;
}

void Daemon::settle_dependents(std::uint64_t id, JobStatus status) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end()) return;
  const std::vector<std::uint64_t> dependents = std::move(at->second);
  waiting_.erase(at);
  for (const std::uint64_t dependent : dependents) {
    JobRecord* job = find(dependent);
    if (!job) continue;
    const auto broken = std::find_if(job->spec.dependencies.begin(), job->spec.dependencies.end(),
                                     [&](const Dependency& d) { return d.job == id && !satisfied(d.when, status); });
    if (broken != job->spec.dependencies.end()) {
      finish(*job, JobStatus::kCancelled,
             fmt::format("its dependency can never hold: job {} is {}", id, name_of(status)), false);
      continue;
    }
    std::erase_if(job->spec.dependencies, [&](const Dependency& d) { return d.job == id; });
    dependencies_hold(*job);
  }
  admission_due_ = true;
}

// The end of a job. `completed`: it ran to its end, whatever its exit code; else it is taken out of the belief.
void Daemon::finish(JobRecord& job, JobStatus status, std::string reason, bool completed) {
  if (const JobId row = belief_->row(job.id); row != kNoJob) {
    fleet_->tell({belief_->inside(job.ended >= Time{0} ? job.ended : now()),
                  completed ? EventKind::kFinished : EventKind::kWithdrawn,
                  kNoPlacement,
                  row,
                  kNoGpu,
                  {}});
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
    fleet_->tell({belief_->inside(now()), EventKind::kWithdrawn, kNoPlacement, row, kNoGpu, {}});
    belief_->drop(job.id);
  }
  job.status = JobStatus::kQueued;
  job.reason = std::move(reason);
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

bool Daemon::out_of_memory(const AttemptExit& exit) const {
  if (exit.code == 0 || exit.never_started) return false;
  if (exit.gpu_oom) return true;
  const std::string tail = tail_of(world_.runner.log_path(exit.id));
  return std::any_of(settings_.oom_patterns.begin(), settings_.oom_patterns.end(),
                     [&](const std::string& pattern) { return tail.find(pattern) != tail.npos; });
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
  const double left = checkpoints ? share_left(job) : 1;
  const std::string slice = job.slice;
  job.exit_code = exit.code;
  job.exit_signal = exit.signal;
  leave_slice(job, exit.ended);
  switch (job.wish) {
    case JobRecord::kCancel:
      job.ended = exit.ended;
      return finish(job, JobStatus::kCancelled, job.reason, false);
    case JobRecord::kRequeue:
      return back_to_queue(job, "requeued by request", 1);
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
      return back_to_queue(job, "preempted", left);
    case JobRecord::kLarger:
      if (exit.code == 0 && !checkpoints) break;  // it ended by itself meanwhile
      return back_to_queue(job, job.reason, left);
    case JobRecord::kQuarantine: {
      if (exit.code == 0 && !checkpoints) break;  // it ended by itself before it was stopped
      const std::string why = fmt::format("GPU {} failed: {}", job.gpu, gpus_[std::size_t(job.gpu)].trouble);
      if (job.spec.preemptible()) return back_to_queue(job, "requeued: " + why, left);
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
  if (out_of_memory(exit)) {
    const int had = slice_memory_mib(job.gpu, job.slice), largest = belief_->largest_memory_mib();
    if (had > 0 && had < largest && job.oom_restarts < kMostOomRestarts) {
      job.ended = Time{-1};
      ++job.oom_restarts;
      ++counts_.oom_restarts;
      job.mem_mib = memory_after_failure(job, had);
      PastRun run;
      run.peak_mib = job.peak_mib;
      run.out_of_memory_mib = had;
      history_.add(signature_of(job.spec.command, job.spec.script), run);
      return back_to_queue(job, fmt::format("out of memory on {}: restarts on a larger slice", job.slice), 1);
    }
    return finish(
        job, JobStatus::kFailed,
        fmt::format("out of GPU memory on {}, and no slice of this fleet has more than {} MiB", job.slice, largest),
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

Result<Ok> Daemon::cancel(std::uint64_t id, const std::string& why) {
  JobRecord* job = find(id);
  if (!job) return not_found("job {} has ended or never was", id);
  switch (job->status) {
    case JobStatus::kStarting:
    case JobStatus::kRunning:
    case JobStatus::kStopping:
      if (attempts_.count({job->id, job->attempt})) {
        job->reason = why;
        stop_job(*job, JobRecord::kCancel);
        return Ok{};
      }
      leave_slice(*job, now());
      [[fallthrough]];
    default:
      postponed_.erase(id);
      finish(*job, JobStatus::kCancelled, why, false);
      return Ok{};
  }
}

// A job that has ended comes back under its number, with a new attempt.
Result<Ok> Daemon::requeue(std::uint64_t id, bool by_operator) {
  if (JobRecord* job = find(id)) {
    if (job->status == JobStatus::kHeld || job->status == JobStatus::kQueued)
      return busy_error("job {} is waiting already", id);
    if (!attempts_.count({job->id, job->attempt})) return busy_error("job {} is about to start", id);
    stop_job(*job, JobRecord::kRequeue);
    return Ok{};
  }
  // It may have ended, or got its last joules, within this step: what is read below must hold that.
  if (!disk_trouble_.empty() || !commit()) return io_error("no new work is accepted: {}", disk_trouble_);
  settling_.erase(id);
  SMARTMIG_TRY(const auto row, world_.store.job(id));
  if (!row) return not_found("there is no job {}", id);
  SMARTMIG_TRY(JobRecord job, from_row(*row));
  SMARTMIG_RETURN_IF_ERROR(room_for(1, job.uid, by_operator));
  job.ended = job.started = Time{-1};
  job.exit_code = -1;
  job.exit_signal = 0;
  job.remaining = 1;
  job.spec.dependencies.clear();
  if (const auto fits = belief_->fits(job); !fits) return fits.error();
  JobRecord& back = jobs_.emplace(id, std::move(job)).first->second;
  back_to_queue(back, "requeued by request", 1);
  return Ok{};
}

// What the end of a job sets off outside, once it is on record.
void Daemon::after_ends() {
  for (const JobRecord& job : std::exchange(ended_now_, {})) {
    if (settings_.on_finish.empty()) continue;
    JobShown shown;
    shown.now = now();
    hooks_.run(settings_.on_finish, to_json(job, shown).dump());
  }
}

}  // namespace smartmig
