#include "serve/attempts/job_transitions.h"

#include <algorithm>
#include <ctime>

#include "base/json.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr double kPeakMargin = 1.25;
constexpr int kMostSettled = 1'000;  // dependents that one step looks at: some 20 ms

bool satisfied(Dependency::When when, JobStatus status) {
  switch (when) {
    case Dependency::kAfterOk:
      return status == JobStatus::kDone;
    case Dependency::kAfterNotOk:
      return status != JobStatus::kDone;
    case Dependency::kAfterAny:
    case Dependency::kAfter:
      return true;
  }
  return false;
}

// What it is placed by from now on: a slice that was too large is not asked for again. What was seen, with room for what
// was not.
int memory_seen(const JobRecord& job, int largest_mib) {
  if (job.spec.mem_mib || job.counts.out_of_memory > 0 || job.memory.peak_mib <= 0) return job.memory.mib;
  return std::min(largest_mib, int(kPeakMargin * job.memory.peak_mib));
}

std::string never_holds(QueueId id, JobStatus status) {
  return fmt::format("its dependency cannot be met: job {} is {}", id, name_of(status));
}

std::string local_time(UnixTime at) {
  const std::time_t seconds = std::time_t(unix_us(at) / 1'000'000);
  std::tm parts{};
  char text[64];
  ::localtime_r(&seconds, &parts);
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts));
}

}  // namespace

// Whoever ends a job, or lets it wait again, has seen the end of its attempt.
void JobTransitions::attempt_over(JobRecord& job, JobStatus status) {
  SMARTMIG_CHECK(!table_.under_way(job), "job {} is {} and was to become {} while attempt {} is under way", job.id,
                 name_of(job.status), name_of(status), job.attempt);
  job.status.attempt_over(status);
}

void JobTransitions::finish(JobRecord& job, JobStatus status, std::string reason, bool completed) {
  session_.leave(job.id, job.times.ended != kNotYet ? job.times.ended : session_.now(), completed);
  attempt_over(job, status);
  job.reason = std::move(reason);
  job.stop_reason = StopReason::kNone;
  job.suspended.reset();
  if (job.times.ended == kNotYet) job.times.ended = session_.now();
  Counts& counts = figures_.counts;
  ++counts.ended[std::size_t(status)];
  counts.ended_tardiness_s += seconds(lateness(job, session_.now(), {}));
  counts.ended_joules += job.energy.joules;
  session_.note("job_ended", fmt::format("\"job\":{},\"state\":\"{}\",\"exit_code\":{},\"joules\":{:.3f}", job.id,
                                         name_of(status), job.exit.code, job.energy.joules));
  if (status == JobStatus::kTimedOut) tell(MailEvent::kTimeLimit, job);
  tell(status == JobStatus::kDone ? MailEvent::kEnd : MailEvent::kFail, job);
  const QueueId id = job.id;
  const std::uint32_t uid = job.owner.uid;
  const std::string name = title(job);
  quotas_.ended(job);
  book_.end(job);
  for (const QueueId dependent : book_.take_dependents(id)) to_settle_.push_back({dependent, id, status});
  settle_namesake(uid, name, id);
  settle();
}

void JobTransitions::go_on() {
  settled_ = 0;
  released_ = false;
  settle();
}

void JobTransitions::settle() {
  if (settling_) return;  // finish() below: the loop goes on with what it added
  settling_ = true;
  for (; !to_settle_.empty() && settled_ < kMostSettled; ++settled_) {
    const Dependent next = to_settle_.front();
    to_settle_.pop_front();
    if (JobRecord* job = book_.find(next.id)) settle_dependent(*job, next.ended, next.status);
  }
  settling_ = false;
}

// A failed job has ended, too; who asked for both hears of it once.
void JobTransitions::tell(MailEvent event, const JobRecord& job) {
  const auto wants = [&](MailEvent e) {
    return std::find(job.spec.mail.begin(), job.spec.mail.end(), e) != job.spec.mail.end();
  };
  if (wants(event) || (event == MailEvent::kFail && wants(MailEvent::kEnd))) mail_.push_back({event, job});
}

void JobTransitions::started(JobRecord& job) {
  tell(MailEvent::kBegin, job);
  for (const QueueId dependent : book_.dependents(job.id))
    if (JobRecord* other = book_.find(dependent); other && other->status == JobStatus::kHeld)
      released_ |= check_dependencies(*other);
}

void JobTransitions::release_due() {
  while (!begins_.empty() && begins_.begin()->first <= session_.now()) {
    const QueueId id = begins_.begin()->second;
    begins_.erase(begins_.begin());
    if (JobRecord* job = book_.find(id); job && job->status == JobStatus::kHeld) check_dependencies(*job);
  }
}

void JobTransitions::quotas_changed() {
  std::vector<QueueId> held;
  for (const auto& [id, job] : book_.live())
    if (job.status == JobStatus::kHeld && is_quota_words(job.reason)) held.push_back(id);
  for (const QueueId id : held) check_dependencies(*book_.find(id));
}

void JobTransitions::back_to_queue(JobRecord& job, std::string reason, double remaining) {
  session_.withdraw(job.id);
  job.memory.mib = memory_seen(job, session_.belief().largest_memory_mib(job.spec));
  waits_again(job, std::move(reason), remaining);
}

void JobTransitions::back_as_believed(JobRecord& job, std::string reason, double remaining) {
  const bool as_before = job.memory.mib == memory_seen(job, session_.belief().largest_memory_mib(job.spec));
  // A row that was made after some of its stops does not know of them.
  const bool enough = job.counts.preempted >= kMostPreemptions && session_.stops(job.id) < kMostPreemptions;
  if (!as_before || enough) return back_to_queue(job, std::move(reason), remaining);
  waits_again(job, std::move(reason), remaining);
}

void JobTransitions::waits_again(JobRecord& job, std::string reason, double remaining) {
  attempt_over(job, JobStatus::kQueued);
  job.reason = std::move(reason);
  session_.note("requeued",
                fmt::format("\"job\":{},\"attempt\":{},\"words\":{}", job.id, job.attempt, json_text(job.reason)));
  tell(MailEvent::kRequeue, job);
  job.stop_reason = StopReason::kNone;
  job.work.remaining = remaining;
  add_slice_time(job, session_.now());
  job.times.started = kNotYet;
  leave_slice(job);
  book_.changed(job);
  book_.queue_changed();
  // Its reservation may be over; one that began ahead of its slice may be held by now.
  if (!job.spec.reservation.empty() || job.held_by != HeldBy::kNobody || job.spec.begin) check_dependencies(job);
}

std::string JobTransitions::waits_for(JobRecord& job) {
  if (job.held_by == HeldBy::kOwner) return fmt::format("held by its owner: smartmig release {}", job.id);
  if (job.held_by == HeldBy::kOperator) return "held by the operator";
  if (job.spec.begin && *job.spec.begin > session_.now()) {
    begins_.insert({*job.spec.begin, job.id});
    return "begins at " + local_time(*job.spec.begin);
  }
  if (const std::string& name = job.spec.reservation; !name.empty()) {
    const GpuReservation* reservation = reservations_.find(name);
    if (!reservation)
      return fmt::format(
          "has lost its reservation: {} has ended or was removed; smartmig release {} lets it run without one", name,
          job.id);
    if (reservation->begin > session_.now())
      return fmt::format("runs in reservation {}, which begins at {}", name, local_time(reservation->begin));
  }
  for (const Dependency& d : job.spec.dependencies) {
    const JobRecord* other = book_.find(QueueId(d.job));
    if (!other || (d.when == Dependency::kAfter && other->times.first_started != kNotYet)) continue;
    return fmt::format("waits for job {}{}", d.job, d.when == Dependency::kAfter ? " to start" : "");
  }
  if (const QueueId earlier = job.spec.singleton ? book_.namesake_before(job) : kNoId; earlier != kNoId)
    return fmt::format("waits for job {} of the same name", earlier);
  if (std::string full = quotas_.used_up(job); !full.empty()) {
    begins_.insert({quotas_.next_week(), job.id});
    return full;
  }
  return {};
}

bool JobTransitions::check_dependencies(JobRecord& job) {
  for (const Dependency& d : job.spec.dependencies) {
    if (book_.find(QueueId(d.job))) continue;
    if (const JobStatus status = book_.status_of(QueueId(d.job)); !satisfied(d.when, status)) {
      finish(job, JobStatus::kCancelled, never_holds(QueueId(d.job), status), false);
      return false;
    }
  }
  return look_again(job);
}

bool JobTransitions::look_again(JobRecord& job) {
  const std::string words = waits_for(job);
  const JobStatus status = words.empty() ? JobStatus::kQueued : JobStatus::kHeld;
  if (status == job.status && (words == job.reason || words.empty())) return words.empty();
  job.status.step(status);
  job.reason = words;
  book_.changed(job);
  book_.queue_changed();
  return words.empty();
}

// Of its other dependencies none has ended since it was looked at, or they are on the list, too. One that runs waited for
// the other to start, or was taken over: it has what it waited for.
void JobTransitions::settle_dependent(JobRecord& job, QueueId ended, JobStatus status) {
  auto& all = job.spec.dependencies;
  const auto is_on_it = [&](const Dependency& d) { return d.job == number(ended); };
  if (is_waiting(job.status))
    for (const Dependency& d : all)
      if (is_on_it(d) && !satisfied(d.when, status))
        return finish(job, JobStatus::kCancelled, never_holds(ended, status), false);
  std::erase_if(all, is_on_it);
  if (is_waiting(job.status)) look_again(job);
}

// A singleton waits for the last one before it, so the end of a job concerns the next of its name alone.
void JobTransitions::settle_namesake(std::uint32_t uid, const std::string& name, QueueId id) {
  JobRecord* next = book_.find(book_.namesake_after(uid, name, id));
  if (next && next->spec.singleton && next->status == JobStatus::kHeld) check_dependencies(*next);
}

}  // namespace smartmig
