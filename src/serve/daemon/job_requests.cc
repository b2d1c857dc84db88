#include "serve/daemon/job_requests.h"

#include <algorithm>

#include "base/duration_words.h"
#include "base/json.h"
#include "base/text.h"
#include "base/users.h"
#include "live/jobs/container_command.h"
#include "model/speed.h"
#include "queue/jobs/job_json.h"
#include "serve/daemon/job_ports.h"

namespace smartmig {
namespace {

// Deadlines are soft, so one that cannot be kept is no error; its owner should know. A guess is no ground for words.
std::string deadline_warning(const JobRecord& job) {
  if (!job.spec.deadline) return {};
  const Time left = *job.spec.deadline - job.times.submitted;
  if (left <= Time{0}) return "the deadline has passed: the job will be late";
  if (job.work.source == EstimateSource::kGuess || job.work.estimate <= left) return {};
  return fmt::format("the deadline is in {} and the job takes {} on a whole GPU: it will be late",
                     duration_words(seconds(left)), duration_words(seconds(job.work.estimate)));
}

// What all tasks of an array share in the store.
std::uint64_t launch_bytes(const JobSpec& spec) {
  std::uint64_t sum = spec.script.size();
  if (const std::size_t command = bytes_of_command(spec); command > kLongCommand) sum += command;
  for (const std::string& entry : spec.environment) sum += entry.size();
  return sum;
}

// What each task may know of its array: numbers as Slurm tells them. A list without one distance has step 1.
void describe_array(JobRecord& job, const std::vector<int>& tasks) {
  if (tasks.empty()) return;
  const auto [first, last] = std::minmax_element(tasks.begin(), tasks.end());
  const int count = int(tasks.size()), step = count > 1 ? tasks[1] - tasks[0] : 1;
  bool even = step > 0;
  for (std::size_t i = 1; i < tasks.size(); ++i) even &= tasks[i] - tasks[i - 1] == step;
  job.array.count = count;
  job.array.first = *first;
  job.array.last = *last;
  job.array.step = even ? step : 1;
}

}  // namespace

Result<Ok> JobRequests::room_for(std::size_t tasks, std::uint32_t uid, bool by_operator) const {
  const std::size_t all = book_.live().size() + unfolding_.tasks();
  if (settings_.limits.queue > 0 && all + tasks > std::size_t(settings_.limits.queue))
    return busy_error("the queue has {} jobs and its limit is {}; try again when some have ended", all,
                      settings_.limits.queue);
  if (settings_.limits.user_queued <= 0 || by_operator) return Ok{};
  const std::size_t waiting = book_.waiting().of_user(uid) + unfolding_.tasks_of(uid);
  if (waiting + tasks > std::size_t(settings_.limits.user_queued))
    return busy_error("you have {} waiting jobs and your limit is {}; {} more must wait until some have started",
                      waiting, settings_.limits.user_queued, tasks);
  return Ok{};
}

Result<Ok> JobRequests::room_in_store(const std::vector<JobSpec>& specs, std::uint32_t uid) const {
  const auto most = std::uint64_t(settings_.limits.user_store_mib) << 20;
  if (most == 0) return Ok{};
  std::uint64_t more = 0;
  for (const JobSpec& spec : specs)
    more += bytes_of(spec) * std::max<std::size_t>(1, spec.array.size()) + launch_bytes(spec);
  const std::uint64_t taken = book_.bytes_of_user(uid) + unfolding_.bytes_of(uid);
  if (taken + more <= most) return Ok{};
  constexpr double kMib = 1 << 20;
  return busy_error(
      "your jobs' commands, environments and scripts take {:.1f} MiB and the limit is {} "
      "(limits.user_store); {:.1f} MiB more must wait until some jobs have ended, or --export "
      "fewer variables",
      double(taken) / kMib, settings_.limits.user_store_mib, double(more) / kMib);
}

Result<Ok> JobRequests::acceptable(const Caller& caller, const JobSpec& spec, const std::string& not_held,
                                   std::vector<std::string>& warnings) const {
  if (spec.priority > 0 && !caller.operator_rights)
    return no_permission("priority {} is above 0; only root may set that", spec.priority);
  if (!spec.kind.empty() && !SpeedTable::builtin().has(spec.kind))
    warnings.push_back(
        fmt::format("kind '{}' is not in the speed table; smartmig schedules the job as an unknown one", spec.kind));
  if (!spec.group.empty() && groups_.limit(spec.group) == 0)
    warnings.push_back(
        fmt::format("group '{}' has no limit; set one with smartmig group {} --limit N", spec.group, spec.group));
  if (!spec.reservation.empty()) {
    const GpuReservation* reservation = reservations_.find(spec.reservation);
    if (!reservation)
      return not_found("reservation {} does not exist; smartmig reserve list shows all", spec.reservation);
    if (!reservation->lets_in(user_name(caller.uid), caller.operator_rights))
      return no_permission("reservation {} is for {}", spec.reservation, who_of(*reservation));
  }
  SMARTMIG_RETURN_IF_ERROR(check_size(spec, session_.platform()));
  if (!spec.mail.empty() && settings_.hooks.mail.empty())
    warnings.push_back("no mail will be sent: the daemon has no hooks.mail");
  if (spec.restart && spec.checkpoint_signal == 0)
    warnings.push_back("--restart-time has no effect without --checkpoint-signal");
  if (settings_.host.cpus > 0 && spec.cpus > settings_.host.cpus)
    return invalid("--cpus {:g} exceeds the {:g} cores that jobs share on this machine", spec.cpus,
                   settings_.host.cpus);
  if (settings_.host.mem_mib > 0 && spec.host_mem_mib > settings_.host.mem_mib)
    return invalid("--host-mem {} MiB exceeds the {} MiB that jobs share on this machine", spec.host_mem_mib,
                   settings_.host.mem_mib);
  SMARTMIG_RETURN_IF_ERROR(can_be_executed(spec));
  if (spec.idle.value_or(Time{0}) > Time{0})
    if (const auto can = runner_.measures_cpu(); !can)
      return Error{can.error().code, "--idle is not available: " + can.error().what};
  if (spec.port.value_or(0) > 0)
    if (const QueueId other = holder_of_port(book_.live(), *spec.port); other != kNoId)
      return busy_error("port {} belongs to job {}; choose another port, or use --port auto", *spec.port, other);
  if (spec.exact_memory.value_or(false)) {
    if (const auto can = runner_.reports_memory(); !can)
      return Error{can.error().code, "--exact-memory is not available: " + can.error().what};
    if (const auto can = runner_.reports_tensors(); !can)
      warnings.push_back("smartmig counts CUDA requests but not tensors: " + can.error().what);
  }
  if (spec.prelaunch.value_or(false)) {
    const std::string why =
        settings_.prelaunch.jobs == 0 ? "this daemon prelaunches no jobs (prelaunch.jobs)" : not_held;
    if (!why.empty()) warnings.push_back("it is not prelaunched: " + why);
  }
  for (const Dependency& d : spec.dependencies) {
    if (is_phantom(QueueId(d.job)))
      return invalid("job {} cannot exist: job numbers are below {} (--dependency)", d.job, kPhantoms);
    if (book_.find(QueueId(d.job))) continue;
    SMARTMIG_TRY(const auto row, book_.stored(QueueId(d.job)));
    if (!row) return not_found("job {} does not exist (--dependency)", d.job);
  }
  return Ok{};
}

JobRecord JobRequests::as_record(const Caller& caller, JobSpec spec) {
  JobRecord job;
  job.owner.uid = caller.uid;
  job.owner.gid = caller.gid;
  job.owner.name = user_name(caller.uid);
  job.times.submitted = session_.now();
  settle_size(spec, session_.platform(), settings_);
  job.memory.mib = spec.mem_mib.value_or(-1);
  if (!spec.script.empty()) job.launch.script = hash_text(spec.script);
  job.spec = std::move(spec);
  if (const auto at = settings_.limits.priorities.find(job.owner.name); at != settings_.limits.priorities.end())
    job.spec.priority += at->second;
  if (!job.spec.patient) job.spec.patient = settings_.defaults.patient;
  if (!job.spec.exact_memory) job.spec.exact_memory = settings_.defaults.exact_memory;
  if (!job.spec.prelaunch) job.spec.prelaunch = settings_.prelaunch.all;
  if (job.spec.pty && !job.spec.idle && settings_.defaults.pty_idle > Time{0} && runner_.measures_cpu())
    job.spec.idle = settings_.defaults.pty_idle;
  if (!job.spec.grace) job.spec.grace = settings_.defaults.grace;
  if (!job.spec.container.empty()) {
    job.spec.container_runtime = container_runtime(job.spec, settings_.containers.runtime);
    job.spec.exact_memory = false;  // by libraries of this machine
    job.spec.prelaunch = false;
  }
  estimates_.estimate(job);
  return job;
}

Result<std::vector<QueueId>> JobRequests::submit(const Caller& caller, std::vector<JobSpec> specs,
                                                 std::vector<std::string>& warnings,
                                                 const std::vector<std::string>& not_held) {
  if (!book_.disk_trouble().empty()) return io_error("the daemon accepts no new jobs: {}", book_.disk_trouble());
  std::size_t tasks = 0;
  for (const JobSpec& spec : specs) tasks += std::max<std::size_t>(1, spec.array.size());
  SMARTMIG_RETURN_IF_ERROR(room_for(tasks, caller.uid, caller.operator_rights));
  SMARTMIG_RETURN_IF_ERROR(room_in_store(specs, caller.uid));
  std::uint64_t bytes = 0;
  for (const JobSpec& spec : specs)
    bytes += launch_bytes(spec) + bytes_of(spec) * std::max<std::size_t>(1, spec.array.size());
  SMARTMIG_RETURN_IF_ERROR(book_.room_for(2 * bytes));
  std::set<int> ports;                                           // of these
  std::vector<std::pair<JobRecord, std::vector<int>>> accepted;  // with the numbers of its tasks
  for (std::size_t s = 0; s < specs.size(); ++s) {
    const std::string why_not_held = s < not_held.size() ? not_held[s] : "";
    SMARTMIG_RETURN_IF_ERROR(acceptable(caller, specs[s], why_not_held, warnings));
    std::vector<int> array = std::exchange(specs[s].array, {});
    JobRecord base = as_record(caller, std::move(specs[s]));
    if (base.spec.prelaunch.value_or(false))
      base.prelaunch.refused = base.spec.once ? "a job that runs once cannot be prelaunched" : why_not_held;
    // As wide as a job may ask for: a stored row must be readable by the next daemon.
    base.spec.priority = std::clamp(base.spec.priority, -1'000'000, 1'000'000);
    if (std::string words = deadline_warning(base); !words.empty()) warnings.push_back(std::move(words));
    if (const auto fits = session_.belief().fits(base); !fits) return fits.error();
    if (const std::string never = quotas_.never_fits(base, asked_slices(base, session_.platform())); !never.empty())
      return invalid("the job would never start: {}", never);
    if (const std::string full = quotas_.used_up(base); settings_.quota.refuse && !full.empty())
      return busy_error("the job is refused: {}", full);
    base.status.found(JobStatus::kQueued);
    if (base.spec.hold) base.held_by = HeldBy::kOwner;
    if (base.spec.port == 0) {
      SMARTMIG_TRY(base.spec.port, free_port(book_.live(), settings_.ports, ports));
    }
    if (base.spec.port && !ports.insert(*base.spec.port).second)
      return invalid("two of these jobs request port {}", *base.spec.port);
    describe_array(base, array);
    accepted.emplace_back(std::move(base), std::move(array));
  }
  std::vector<QueueId> ids;
  for (auto& [base, array] : accepted) enter(std::move(base), array, ids);
  counts_.submitted += ids.size();
  for (const QueueId id : ids)
    if (JobRecord* job = book_.find(id)) transitions_.check_dependencies(*job);
  return ids;
}

void JobRequests::enter(JobRecord base, const std::vector<int>& tasks, std::vector<QueueId>& ids) {
  if (tasks.empty()) {
    const JobRecord& job = book_.accept(std::move(base));
    note_refusal(job);
    ids.push_back(job.id);
    return;
  }
  base.array.id = book_.next_id();
  const std::size_t room = Unfolding::kMostInStep - std::min(ids.size(), Unfolding::kMostInStep - 1);
  const std::size_t first = std::min(tasks.size(), room);
  for (std::size_t i = 0; i < first; ++i) {
    JobRecord task = base;
    task.array.index = tasks[i];
    const JobRecord& job = book_.accept(std::move(task));
    note_refusal(job);
    ids.push_back(job.id);
    if (i > 0) continue;
    base.launch = job.launch;  // the first has them for all
    base.spec.command = job.spec.command;
    base.spec.environment = {};
    base.spec.script = {};
  }
  if (first == tasks.size()) return;
  for (std::size_t i = first; i < tasks.size(); ++i) ids.push_back(QueueId(number(base.array.id) + i));
  unfolding_.add(std::move(base), {tasks.begin() + std::ptrdiff_t(first), tasks.end()});
}

void JobRequests::note_refusal(const JobRecord& job) {
  if (!job.prelaunch.refused.empty())
    session_.note("not_prelaunched", fmt::format("\"job\":{},\"words\":{}", job.id, json_text(job.prelaunch.refused)));
}

void JobRequests::unfold() {
  if (!book_.disk_trouble().empty()) return;
  for (JobRecord& task : unfolding_.take()) {
    JobRecord& job = book_.unfold(std::move(task));
    note_refusal(job);
    transitions_.check_dependencies(job);
  }
}

Result<Ok> JobRequests::cancel(QueueId id, const std::string& why) {
  if (!book_.disk_trouble().empty()) return io_error("nothing was changed: {}", book_.disk_trouble());
  JobRecord* job = book_.find(id);
  if (!job) return not_found("there is no live job {}", id);
  if (!is_waiting(job->status)) {
    if (table_.under_way(*job)) {
      job->reason = why;
      attempts_.stop(*job, StopReason::kCancel);
      return Ok{};
    }
    attempts_.left_slice(*job, session_.now());
  }
  attempts_.drop_postponed(id);
  if (table_.prelaunched(*job)) {  // it waits, and its processes are there
    session_.withdraw(id);
    job->reason = why;
    attempts_.stop(*job, StopReason::kCancel);
    return Ok{};
  }
  estimates_.forget(id);
  transitions_.finish(*job, JobStatus::kCancelled, why, false);
  return Ok{};
}

Result<Ok> JobRequests::requeue(QueueId id, bool by_operator) {
  JobRecord* job = book_.find(id);
  if (!job) return bring_back(id, by_operator);
  if (is_waiting(job->status)) return busy_error("job {} is waiting already", id);
  if (!table_.under_way(*job)) return busy_error("job {} is about to start", id);
  attempts_.stop(*job, StopReason::kRequeue);
  return Ok{};
}

Result<Ok> JobRequests::bring_back(QueueId id, bool by_operator) {
  if (!book_.disk_trouble().empty()) return io_error("the daemon accepts no new jobs: {}", book_.disk_trouble());
  SMARTMIG_TRY(const auto row, book_.stored(id));
  if (!row) return not_found("there is no job {}", id);
  SMARTMIG_TRY(JobRecord job, from_row(*row));
  if (job.launch.id != 0 && job.launch.bytes == 0)
    return not_found("the environment of job {} has been removed (limits.user_store); submit it again", id);
  SMARTMIG_RETURN_IF_ERROR(room_for(1, job.owner.uid, by_operator));
  const JobRecord as_ended = job;
  add_slice_time(job, job.times.ended);
  job.times.ended = job.times.started = kNotYet;
  job.exit.code = -1;
  job.exit.signal = 0;
  job.work.remaining = 1;
  // An operator's hold is the operator's to undo, whatever became of the job meanwhile.
  if (job.held_by == HeldBy::kOwner || by_operator) job.held_by = HeldBy::kNobody;
  job.spec.dependencies.clear();
  job.spec.singleton = false;
  job.spec.begin.reset();
  if (const auto fits = session_.belief().fits(job); !fits) return fits.error();
  quotas_.brought_back(as_ended);
  transitions_.back_to_queue(book_.bring_back(std::move(job), session_.now()), "requeued by request", 1);
  return Ok{};
}

}  // namespace smartmig
