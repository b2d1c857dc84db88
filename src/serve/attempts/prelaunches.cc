#include "serve/attempts/prelaunches.h"

#include <signal.h>

#include <algorithm>

#include "base/json.h"
#include "serve/attempts/job_launch.h"

namespace smartmig {
namespace {

constexpr Time kLookAgain{200'000}, kAfterShortage{5'000'000};

}  // namespace

int Prelaunches::mem_mib_of(const JobRecord& job) const {
  if (job.spec.host_mem_mib > 0) return job.spec.host_mem_mib;
  return settings_.prelaunch.mem_mib / std::max(1, settings_.prelaunch.jobs);
}

Prelaunches::Use Prelaunches::used() {
  Use use;
  std::erase_if(at_cuda_, [&](const AttemptId& id) { return table_.prelaunched().count(id) == 0; });
  for (const AttemptId& id : table_.prelaunched()) {
    ++use.jobs;
    if (const JobRecord* job = book_.find(QueueId(id.job))) use.mem_mib += mem_mib_of(*job);
    if (at_cuda_.count(id) == 0 && runner_.first_cuda_call(id)) at_cuda_.insert(id);
    use.on_the_way += at_cuda_.count(id) == 0;
  }
  for (const QueueId id : to_start_)
    if (const JobRecord* job = book_.find(id)) {
      ++use.jobs;
      ++use.on_the_way;
      use.mem_mib += mem_mib_of(*job);
    }
  return use;
}

bool Prelaunches::eligible(const JobRecord& job) const {
  return job.status == JobStatus::kQueued && job.spec.prelaunch.value_or(false) && job.prelaunch.began == kNotYet &&
         job.prelaunch.refused.empty() && session_.waits(job.id) && !table_.under_way(job) && !table_.postponed(job.id);
}

bool Prelaunches::refused(JobRecord& job) {
  if (mem_mib_of(job) > settings_.prelaunch.mem_mib)
    job.prelaunch.refused = fmt::format("its host memory ({} MiB) exceeds a quarter of host.mem", mem_mib_of(job));
  else
    return false;
  session_.note("not_prelaunched", fmt::format("\"job\":{},\"words\":{}", job.id, json_text(job.prelaunch.refused)));
  book_.changed(job);
  return true;
}

std::vector<JobRecord*> Prelaunches::next_jobs(const Policy& policy) {
  std::vector<std::pair<Time, JobRecord*>> order;
  for (const auto& [id, row] : session_.belief().rows())
    if (JobRecord* job = book_.find(id); job && eligible(*job)) order.emplace_back(kNever, job);
  if (order.empty()) return {};
  std::map<QueueId, Time> planned;
  for (const PlannedStart& start : policy.planned_starts(session_.cluster()))
    planned[session_.belief().record(start.job)] = start.start;
  for (auto& [at, job] : order)
    if (const auto found = planned.find(job->id); found != planned.end()) at = found->second;
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<JobRecord*> jobs;
  for (const auto& [at, job] : order) jobs.push_back(job);
  return jobs;
}

void Prelaunches::give_up_held() {
  for (const AttemptId& id : table_.prelaunched())
    if (JobRecord* job = book_.find(QueueId(id.job)); job && job->status == JobStatus::kHeld && attempt_of(*job) == id)
      attempts_.stop(*job, StopReason::kRequeue);
}

void Prelaunches::choose(const Policy& policy) {
  next_look_ = kNeverUnix;
  const Settings::Prelaunch& most = settings_.prelaunch;
  if (most.jobs <= 0 || session_.now() < next_try_) return;
  Use use = used();
  const int cores = std::max(1, int(most.cpus));
  if (use.jobs >= most.jobs) return;
  for (JobRecord* job : next_jobs(policy)) {
    if (use.jobs >= most.jobs) return;
    if (use.on_the_way >= cores) {
      next_look_ = session_.now() + kLookAgain;
      return;
    }
    if (refused(*job) || use.mem_mib + mem_mib_of(*job) > most.mem_mib) continue;
    ++job->attempt;
    job->prelaunch.began = session_.now();
    session_.note("prelaunched", fmt::format("\"job\":{},\"attempt\":{}", job->id, job->attempt));
    book_.changed(*job);
    to_start_.push_back(job->id);
    ++use.jobs;
    ++use.on_the_way;
    use.mem_mib += mem_mib_of(*job);
  }
}

std::optional<Result<Ok>> Prelaunches::start(const JobRecord& job) {
  auto launch = launch_of_job(job, book_);
  if (!launch) return Result<Ok>(launch.error());
  launch->hold = true;
  launch->cpus = 1;
  launch->host_mem_mib = mem_mib_of(job);
  if (runner_.fences_devices()) launch->device_nodes = {"/dev/null"};  // and the usual ones: no GPU
  if (emulated_) launch->emulated_kind = job.spec.kind.empty() ? "unknown" : job.spec.kind;
  return runner_.begin(*launch);
}

void Prelaunches::end_left() {
  std::erase_if(given_up_, [&](const AttemptId& id) { return table_.prelaunched().count(id) == 0; });
  for (const AttemptId& id : table_.prelaunched()) {
    const JobRecord* job = book_.find(QueueId(id.job));
    if ((job && job->attempt == id.attempt) || !given_up_.insert(id).second) continue;
    (void)runner_.stop(id, SIGTERM, settings_.defaults.grace);  // an error: it has ended, and its exit follows
  }
}

void Prelaunches::carry_out() {
  end_left();
  for (const QueueId id : std::exchange(to_start_, {})) {
    JobRecord* job = book_.find(id);
    if (!job || !is_waiting(job->status) || job->prelaunch.began == kNotYet) continue;
    table_.began_ahead(*job);
    table_.begins(*job);
    if (auto started = start(*job)) begun({attempt_of(*job), std::move(*started)});
    crash_point();
  }
}

bool Prelaunches::begun(const JobRunner::Begun& one) {
  if (table_.prelaunched().count(one.id) == 0) return false;
  if (!table_.told(one.id) || one.result || one.result.error().code == Error::kBusy) return true;
  table_.ended(one.id);
  if (JobRecord* job = book_.find(QueueId(one.id.job)); job && job->attempt == one.id.attempt)
    never_began(*job, one.result.error());
  return true;
}

void Prelaunches::never_began(JobRecord& job, const Error& error) {
  if (error.code == Error::kIo || error.code == Error::kTimeout)
    next_try_ = session_.now() + kAfterShortage;
  else
    job.prelaunch.refused = error.what;
  book_.changed(job);
  if (job.status == JobStatus::kStarting) return;  // its slice is free by now: it begins there
  job.prelaunch.began = kNotYet;
  if (job.status == JobStatus::kStopping) return attempts_.stopped_before_it_began(job);
  --job.attempt;
}

}  // namespace smartmig
