// The life of jobs until they run: acceptance, dependencies, estimates; cancel and requeue. Ends: daemon_ends.cc.
#include <algorithm>

#include "model/speed.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

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
  if (settings_.limits.queue > 0 && jobs_.size() + tasks > std::size_t(settings_.limits.queue))
    return busy_error("the queue holds {} jobs and takes {} at most; try again when some have ended", jobs_.size(),
                      settings_.limits.queue);
  if (settings_.limits.user_queued <= 0 || by_operator) return Ok{};
  std::size_t waiting = 0;
  for (const auto& [id, job] : jobs_)
    waiting += job.uid == uid && (job.status == JobStatus::kQueued || job.status == JobStatus::kHeld);
  if (waiting + tasks > std::size_t(settings_.limits.user_queued))
    return busy_error("you have {} jobs waiting, and may have {}; {} more must wait until some have started", waiting,
                      settings_.limits.user_queued, tasks);
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
    SMARTMIG_RETURN_IF_ERROR(world_.runner.can_reach(spec, caller.uid, caller.gid));
    if (spec.exact_memory)
      if (const auto can = world_.runner.reports_memory(); !can)
        return Error{can.error().code, "--exact-memory cannot be had: " + can.error().what};
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
        spec.time_limit ? std::min(*spec.time_limit, settings_.defaults.estimate) : settings_.defaults.estimate;
    job.estimate_source = EstimateSource::kGuess;
  }
  if (job.mem_mib < 0) {
    job.mem_mib = known.mem_mib.value_or(settings_.defaults.mem_mib);
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

}  // namespace smartmig
