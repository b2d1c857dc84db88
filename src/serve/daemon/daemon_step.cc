// One step of the owner: gather, decide, write down, do, answer.
#include <pwd.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "live/jobs/run_program.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kDecisionTimes = 8192;
constexpr int kLogsAtOnce = 10'000;  // jobs whose logs one prune removes
constexpr Time kRetryDisk{1'000'000}, kDeadlineMatters{60'000'000};

std::string home_of(std::uint32_t uid) {
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_dir;
  return "/";
}

// What a job can know of itself; the names of Slurm, too, since scripts look for them.
Environment variables_of(const JobRecord& job) {
  Environment out = {{"SMARTMIG_JOB_ID", std::to_string(job.id)},
                     {"SMARTMIG_JOB_NAME", title(job)},
                     {"SMARTMIG_ATTEMPT", std::to_string(job.attempt)},
                     {"SMARTMIG_GPU", std::to_string(job.gpu)},
                     {"SMARTMIG_SLICE", job.slice},
                     {"SLURM_JOB_ID", std::to_string(job.id)},
                     {"SLURM_JOB_NAME", title(job)},
                     {"SLURM_RESTART_COUNT", std::to_string(job.attempt - 1)}};
  if (job.array_id) {
    out.push_back({"SMARTMIG_ARRAY_JOB_ID", std::to_string(job.array_id)});
    out.push_back({"SMARTMIG_ARRAY_TASK_ID", std::to_string(job.array_index)});
    out.push_back({"SLURM_ARRAY_JOB_ID", std::to_string(job.array_id)});
    out.push_back({"SLURM_ARRAY_TASK_ID", std::to_string(job.array_index)});
  }
  return out;
}

// For tests of crashes: with SMARTMIG_TEST_KILL_AT=N the daemon kills itself when it comes here for the N-th time,
// which is before and after each commit and after each effect.
void crash_point() {
  static int left = [] {
    const char* text = std::getenv("SMARTMIG_TEST_KILL_AT");
    return text ? std::atoi(text) : 0;
  }();
  if (left > 0 && --left == 0) ::raise(SIGKILL);
}

}  // namespace

void Daemon::run() {
  while (!stopping_) {
    step();
    if (stopping_) break;
    world_.clock.wait_until(next_due());
  }
  {
    std::lock_guard lock(mutex_);  // who asked too late gets an answer, too
    for (Request& request : requests_) answers_.push_back(std::move(request.second));
    requests_.clear();
  }
  const Error gone{Error::kLost, "the daemon is going down"};
  for (auto& answer : answers_) answer(&gone);
  answers_.clear();
  news_.notify_all();
}

void Daemon::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  world_.clock.wake();
}

Time Daemon::next_due() const {
  Time due = std::min({next_sample_, next_save_, next_prune_, next_tick_, world_.runner.next_due()});
  if (const Time retry = fleet_->next_retry(); retry != kNever) due = std::min(due, belief_->outside(retry));
  if (!disk_trouble_.empty()) due = std::min(due, next_retry_);
  for (const GpuState& gpu : cluster().gpus())
    for (const PlacementId p : gpu.busy)
      due = std::min(due, belief_->outside(cluster().state(gpu.job_at[index(p)]).finish) + kOverrunGrace);
  return due;
}

void Daemon::step() {
  compact_if_needed();
  fleet_->set_clock(belief_->inside(now()));
  take_exits();
  take_lane_results();
  find_overruns();
  if (!first_plan_.empty() && !paused_) session_->act(std::exchange(first_plan_, {}));
  std::deque<Request> requests;
  {
    std::lock_guard lock(mutex_);
    requests.swap(requests_);
  }
  for (Request& request : requests) {
    request.first();
    answers_.push_back(std::move(request.second));
  }
  if (now() >= next_sample_) sample_all();
  if (admission_due_ && !paused_) admit();
  if (disk_trouble_.empty()) decide_all();
  consult();
  if (now() >= next_save_) save_values();
  const bool stored = commit();
  if (stored) {
    carry_out();
    after_ends();
    map_jobs();
  }
  const Error failed = io_error("{}", disk_trouble_);
  for (auto& answer : answers_) answer(stored ? nullptr : &failed);
  answers_.clear();
  accepted_.clear();
  if (stored && now() >= next_prune_) prune();
}

// Room for as many arrivals as one step can bring. At this point the fleet has nothing left to tell, so no event speaks
// of an old row.
void Daemon::compact_if_needed() {
  if (belief_->free_rows() >= std::size_t(settings_.limits.window) + 64 || fleet_->has_news()) return;
  std::vector<std::size_t> numbers;
  const Cluster& old = cluster();
  for (JobId job = old.first_unfinished(); job != kNoJob; job = old.next_unfinished(job))
    numbers.push_back(journal_->numbers()[index(job)]);
  session_->replace(belief_->compacted(old));
  journal_->set_table(belief_->table(), std::move(numbers));
  policies_->rows_renumbered();
  for (auto& [id, effect] : postponed_) effect.job = belief_->row(id);
}

void Daemon::decide_all() {
  if (now() >= next_tick_) decide_anyway_ = true;
  while (session_->advance()) {
    while ((fleet_->withdrawals() || (!world_.pace.decide_each_arrival && fleet_->arrival_next())) &&
           session_->advance()) {
    }
    if (worth_deciding(cluster())) decide();
  }
  if (decide_anyway_ && (paused_ || cluster().unfinished() == 0)) {  // nor does time alone
    decide_anyway_ = false;
    next_tick_ = world_.pace.tick == kNever ? kNever : now() + world_.pace.tick;
  }
  if (decide_anyway_) {
    session_->look_again();
    decide();
    while (session_->advance())
      if (worth_deciding(cluster())) decide();
  }
  for (const LiveFleet::Effect& effect : fleet_->take_effects()) prepare(effect);
  counts_.refused = session_->refused();
  counts_.fallbacks = policies_->falls();
}

void Daemon::decide() {
  decide_anyway_ = false;
  next_tick_ = world_.pace.tick == kNever ? kNever : now() + world_.pace.tick;
  plan_.clear();
  const auto began = std::chrono::steady_clock::now();
  if (!paused_) policies_->decide(cluster(), plan_);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (decision_times_.size() < kDecisionTimes) decision_times_.push_back(0);
  decision_times_[decision_at_++ % kDecisionTimes] = took;
  counts_.decision_s.observe(took);
  ++counts_.decisions;
  if (!paused_) watch();
  session_->act(plan_);
  for (const LiveFleet::Effect& effect : fleet_->take_effects()) prepare(effect);
}

// What an effect changes in the records, before it is written down and long before it happens.
void Daemon::prepare(const LiveFleet::Effect& effect) {
  if (effect.what == LiveFleet::Effect::kStart) {
    JobRecord* job = find(belief_->record(effect.job));
    SMARTMIG_CHECK(job, "the policy started a job that has ended");
    // Its own old slice, or this one, is not left yet.
    if (attempts_.count({job->id, job->attempt}) || occupied_.count({index(effect.gpu), index(effect.where)})) {
      postponed_[job->id] = effect;
      return;
    }
    begin_attempt(*job, effect);
  } else if (effect.what == LiveFleet::Effect::kStop) {
    JobRecord* job = find(belief_->record(effect.job));
    if (job && job->wish == JobRecord::kNothing) stop_job(*job, JobRecord::kPreempt);  // else it is stopping already
    return;
  }
  effects_.push_back(effect);
}

void Daemon::begin_attempt(JobRecord& job, const LiveFleet::Effect& effect) {
  const GpuModel& model = *platform_->model(effect.gpu).gpu;
  job.status = JobStatus::kStarting;
  job.reason.clear();
  ++job.attempt;
  job.gpu = int(index(effect.gpu));
  job.slice = slice_name(model, effect.where);
  job.device = instance_device(job.gpu, effect.where);
  occupied_[{index(effect.gpu), index(effect.where)}] = job.id;
  admission_.charge(
      {job.id, job.uid, job.spec.priority, job.spec.deadline, job.submitted, job.estimate, job.spec.min_slices, false},
      active_users_, platform_->total_compute_slices(), platform_->models()[0].gpu->compute_slices());
  if (jobs_.size() > belief_->visible()) admission_due_ = true;
  changed(job);
}

// Its processes are gone. REQUIRES: it has an attempt.
void Daemon::leave_slice(JobRecord& job, Time when) {
  std::erase_if(occupied_, [&](const auto& entry) { return entry.second == job.id; });
  if (job.gpu < 0 || std::size_t(job.gpu) >= gpus_.size()) return;
  meter_of(job.gpu).ended(job.id, when);
  lanes_->sample(GpuId(std::uint32_t(job.gpu)));  // its last joules
}

void Daemon::stop_job(JobRecord& job, JobRecord::Wish wish) {
  job.status = JobStatus::kStopping;
  job.wish = wish;
  changed(job);
  to_stop_.push_back(job.id);
}

// Which of the waiting jobs the policy sees now, and with which deadline (admission.h). What changes is told to the
// fleet as arrivals and withdrawals; a deadline that moved by little stays as it was.
void Daemon::admit() {
  admission_due_ = false;
  count_running();
  std::map<std::uint64_t, int> of_array;  // tasks that run
  for (const auto& [slice, id] : occupied_)
    if (const JobRecord* job = find(id); job && job->array_id) ++of_array[job->array_id];
  std::vector<AdmissionJob> waiting;
  for (auto& [id, job] : jobs_) {
    if (job.status != JobStatus::kQueued && job.status != JobStatus::kHeld) continue;
    if (postponed_.count(id)) continue;
    AdmissionJob one{id,
                     job.uid,
                     job.spec.priority,
                     job.spec.deadline,
                     job.submitted,
                     job.estimate,
                     job.spec.min_slices,
                     !job.spec.dependencies.empty() && job.status == JobStatus::kHeld};
    if (!one.held && job.array_id && job.spec.array_limit > 0 && ++of_array[job.array_id] > job.spec.array_limit)
      one.held = true;
    waiting.push_back(std::move(one));
  }
  std::vector<UserLoad> users;
  for (const auto& [uid, slices] : user_slices_) users.push_back({uid, slices});
  int fleet = 0;
  for (std::size_t g = 0; g < gpus_.size(); ++g)
    if (gpus_[g].trouble.empty() && !gpus_[g].by_operator) fleet += platform_->model(GpuId(g)).gpu->compute_slices();
  const int of_gpu = platform_->models()[0].gpu->compute_slices();
  AdmissionAnswer answer = admission_.admit(waiting, users, admission_limits(), std::max(1, fleet), of_gpu, now());
  active_users_ = std::max<std::size_t>(1, answer.active_users);
  std::set<std::uint64_t> shown;
  for (const AdmittedJob& one : answer.visible) shown.insert(one.id);
  const auto hide = [&](std::uint64_t id, JobId row) {
    fleet_->tell(Event::withdrawn(belief_->inside(now()), row));
    belief_->drop(id);
  };
  for (const AdmissionJob& one : waiting)
    if (const JobId row = belief_->row(one.id); row != kNoJob && !shown.count(one.id)) hide(one.id, row);
  std::sort(answer.visible.begin(), answer.visible.end(), [&](const AdmittedJob& a, const AdmittedJob& b) {
    return std::pair(jobs_.at(a.id).submitted, a.id) < std::pair(jobs_.at(b.id).submitted, b.id);
  });
  for (const AdmittedJob& one : answer.visible) {
    JobRecord& job = jobs_.at(one.id);
    if (const JobId row = belief_->row(one.id); row != kNoJob) {
      const Time had = belief_->outside(belief_->table()->job(row).deadline);
      const Time moved = had > one.deadline ? had - one.deadline : one.deadline - had;
      if (moved <= std::max(kDeadlineMatters, (one.deadline - now()) / 10)) continue;
      if (belief_->free_rows() < 2 * answer.visible.size()) continue;  // after the next compaction
      hide(one.id, row);
    }
    const auto row = belief_->put(job, one.deadline);
    if (!row) {
      finish(job, JobStatus::kFailed, row.error().what, false);
      continue;
    }
    fleet_->tell(Event::submitted(belief_->inside(std::max(job.submitted, started_at_)), *row));
  }
}

AdmissionLimits Daemon::admission_limits() const {
  AdmissionLimits limits;
  limits.user_slices = settings_.limits.user_slices;
  limits.window = std::size_t(settings_.limits.window);
  limits.slack = settings_.defaults.slack;
  return limits;
}

// What the fleet's users and the host have left, at the beginning of a plan.
void Daemon::count_running() {
  user_slices_.clear();
  plan_cpus_ = plan_mem_mib_ = 0;
  for (const auto& [slice, id] : occupied_)
    if (const JobRecord* job = find(id)) {
      const int slices = platform_->model(GpuId(slice.first)).slices_of_placement[slice.second];
      user_slices_[job->uid] += slices;
      double cpus;
      int mem_mib;
      host_share(*job, slices, cpus, mem_mib);
      plan_cpus_ += cpus;
      plan_mem_mib_ += mem_mib;
    }
}

// In proportion to the slice, unless the job says otherwise.
void Daemon::host_share(const JobRecord& job, int slices, double& cpus, int& mem_mib) const {
  const double share = double(slices) / platform_->total_compute_slices();
  cpus = job.spec.cpus > 0 ? job.spec.cpus : settings_.host.cpus * share;
  mem_mib = job.spec.host_mem_mib > 0 ? job.spec.host_mem_mib : int(settings_.host.mem_mib * share);
}

std::string Daemon::gate(const Cluster&, const Start& start) {
  const JobRecord* job = find(belief_->record(start.job));
  if (!job) return "it has ended";
  const int slices = platform_->model(start.gpu).slices_of_placement[index(start.where)];
  if (settings_.limits.user_slices > 0 && user_slices_[job->uid] + slices > settings_.limits.user_slices)
    return fmt::format("user_slices_cap: {} runs on {} compute slices and may have {}", job->user,
                       user_slices_[job->uid], settings_.limits.user_slices);
  double cpus;
  int mem_mib;
  host_share(*job, slices, cpus, mem_mib);
  if (settings_.host.cpus > 0 && plan_cpus_ + cpus > settings_.host.cpus * (1 + 1e-9))
    return fmt::format("host_cpus: it needs {:.1f} CPUs, {:.1f} of {:.1f} are taken", cpus, plan_cpus_,
                       settings_.host.cpus);
  if (settings_.host.mem_mib > 0 && plan_mem_mib_ + mem_mib > settings_.host.mem_mib)
    return fmt::format("host_memory: it needs {} MiB of host memory, {:.0f} of {} are taken", mem_mib, plan_mem_mib_,
                       settings_.host.mem_mib);
  user_slices_[job->uid] += slices;
  plan_cpus_ += cpus;
  plan_mem_mib_ += mem_mib;
  return {};
}

void Daemon::save_values() {
  next_save_ = now() + std::chrono::seconds(60);
  batch_.values["history"] = history_.to_json();
  std::string accounts;
  for (const auto& [uid, account] : admission_.accounts())
    accounts += fmt::format("{}{}:{}", accounts.empty() ? "" : ",", uid, account.count());
  batch_.values["accounts"] = accounts;
  energy_due_ = true;
}

// The files that tell dcgm-exporter whose slice it is.
void Daemon::map_jobs() {
  if (!mapping_) return;
  std::map<JobMapping::Slice, std::uint64_t> jobs;
  for (const auto& [slice, id] : occupied_)
    if (const Instance* instance = find_instance(gpus_[slice.first].board, PlacementId(slice.second)))
      jobs[{int(slice.first), instance->gpu_instance}] = id;
  if (const auto written = mapping_->set(jobs); !written && written.error().what != mapping_trouble_) {
    mapping_trouble_ = written.error().what;
    journal_->note(belief_->inside(now()), "mapping", "\"words\":" + Json(mapping_trouble_).dump());
  }
}

void Daemon::prune() {
  next_prune_ = now() + std::chrono::minutes(10);
  const auto before = [this](std::int64_t keep_days) { return (now() - days(keep_days)).count(); };
  const auto gone = world_.store.prune({before(settings_.journal.keep_days), before(settings_.jobs.keep_days),
                                        settings_.journal.max_events, settings_.jobs.max});
  if (!gone) return;
  for (const std::uint64_t id : *gone) world_.runner.forget(id);
  // Jobs whose logs go before they do.
  const auto ended = world_.store.ended(last_without_log_, before(settings_.logs.keep_days), kLogsAtOnce);
  if (!ended || ended->empty()) return;
  for (const JobEnd& end : *ended)
    if (!jobs_.count(end.job)) world_.runner.forget(end.job);
  last_without_log_ = ended->back();
  batch_.values["last_without_log"] = fmt::format("{}:{}", last_without_log_.at_us, last_without_log_.job);
}

bool Daemon::commit() {
  // Joules of jobs and the meters' state go together, or a crash would count some twice.
  if (energy_due_ || !batch_.jobs.empty() || !dirty_.empty()) {
    dirty_.insert(energy_dirty_.begin(), energy_dirty_.end());
    batch_.values["energy"] = meter_.state();
    energy_due_ = false;
    energy_dirty_.clear();
  }
  for (const std::uint64_t id : dirty_)
    if (const JobRecord* job = find(id)) batch_.jobs.push_back(to_row(*job, fresh_.count(id) > 0));
  for (EventRow& row : journal_->take()) batch_.events.push_back(std::move(row));
  if (batch_.empty()) return disk_trouble_.empty();
  crash_point();
  const auto stored = world_.store.commit(batch_);
  crash_point();
  if (stored) {
    if (!disk_trouble_.empty()) {
      disk_trouble_.clear();
      admission_due_ = true;
    }
    batch_.clear();
    dirty_.clear();
    fresh_.clear();
    {
      std::lock_guard lock(news_mutex_);
      stored_position_ = journal_->position();
    }
    news_.notify_all();
    return true;
  }
  // Jobs that came with this step are not accepted after all; everything else is kept and tried again.
  disk_trouble_ = stored.error().what;
  next_retry_ = now() + kRetryDisk;
  for (const std::uint64_t id : accepted_) {
    fresh_.erase(id);
    dirty_.erase(id);
    std::erase_if(batch_.jobs, [&](const JobRow& row) { return row.id == id; });
    JobRecord* job = find(id);
    if (!job) continue;
    if (const JobId row = belief_->row(id); row != kNoJob) {
      fleet_->tell(Event::withdrawn(belief_->inside(now()), row));
      belief_->drop(id);
      std::erase_if(effects_, [&](const LiveFleet::Effect& e) { return e.job == row; });
      std::erase_if(occupied_, [&](const auto& entry) { return entry.second == id; });
      postponed_.erase(id);
    }
    for (const Dependency& d : job->spec.dependencies)
      if (const auto at = waiting_.find(d.job); at != waiting_.end()) std::erase(at->second, id);
    jobs_.erase(id);
  }
  // Rows are written again as they are by then.
  for (const JobRow& row : batch_.jobs)
    if (!row.final) dirty_.insert(row.id);
  std::erase_if(batch_.jobs, [](const JobRow& row) { return !row.final; });
  return false;
}

void Daemon::carry_out() {
  std::vector<std::uint64_t> stops = std::exchange(to_stop_, {});
  for (const std::uint64_t id : stops)
    if (JobRecord* job = find(id); job && job->status == JobStatus::kStopping) {
      const bool checkpoint = job->spec.checkpoint_signal != 0 && job->wish != JobRecord::kCancel;
      const auto stopped = world_.runner.stop({job->id, job->attempt}, checkpoint ? job->spec.checkpoint_signal : 15,
                                              job->spec.grace.value_or(settings_.defaults.grace));
      if (!stopped)
        journal_->note(belief_->inside(now()), "stop_failed",
                       fmt::format("\"job\":{},\"words\":{}", id, Json(stopped.error().what).dump()));
    }
  for (const LiveFleet::Effect& effect : std::exchange(effects_, {})) {
    switch (effect.what) {
      case LiveFleet::Effect::kStart:
        start_job(effect);
        break;
      case LiveFleet::Effect::kCreate:
        lanes_->create(effect.gpu, effect.where);
        break;
      case LiveFleet::Effect::kDestroy:
        lanes_->destroy(effect.gpu, effect.where);
        break;
      case LiveFleet::Effect::kStop:
        break;
    }
    crash_point();
  }
}

void Daemon::start_job(const LiveFleet::Effect& effect) {
  const auto holder = occupied_.find({index(effect.gpu), index(effect.where)});
  JobRecord* job = holder == occupied_.end() ? nullptr : find(holder->second);
  if (!job || job->status != JobStatus::kStarting) return;
  const Instance* instance = find_instance(gpus_[std::size_t(job->gpu)].board, effect.where);
  Result<Environment> slice = instance
                                  ? lanes_->environment(effect.gpu, *instance, job->uid)
                                  : Result<Environment>(lost_error("GPU {} has no slice {}", job->gpu, job->slice));
  Result<Ok> started = slice ? Result<Ok>(Ok{}) : Result<Ok>(slice.error());
  if (slice) {
    Launch launch;
    launch.id = {job->id, job->attempt};
    launch.spec = job->spec;
    launch.uid = job->uid;
    launch.gid = job->gid;
    launch.user = job->user;
    launch.home = home_of(job->uid);
    launch.slice = std::move(*slice);
    for (auto& variable : variables_of(*job)) launch.slice.push_back(std::move(variable));
    launch.device = job->device;
    if (world_.runner.fences_devices()) launch.device_nodes = lanes_->device_nodes(effect.gpu, *instance);
    host_share(*job, platform_->model(effect.gpu).slices_of_placement[index(effect.where)], launch.cpus,
               launch.host_mem_mib);
    if (world_.emulated) launch.emulated_kind = job->spec.kind.empty() ? "unknown" : job->spec.kind;
    launch.predicted = cluster().state(effect.job).finish - cluster().now();
    launch.remaining = job->remaining;
    started = world_.runner.start(launch);
    if (!started && started.error().code == Error::kBusy)
      started = Ok{};  // it runs already: an earlier daemon began it
  }
  if (started) {
    attempts_[{job->id, job->attempt}] = job->id;
    job->status = JobStatus::kRunning;
    job->started = now();
    if (job->first_started < Time{0}) job->first_started = job->started;
    meter_of(job->gpu).started(job->id, weight_of(*job), job->started);
    changed(*job);
    return;
  }
  leave_slice(*job, now());
  job->ended = now();
  finish(*job, JobStatus::kFailed, started.error().what, false);
}

}  // namespace smartmig
