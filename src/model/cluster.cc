#include "model/cluster.h"

#include <atomic>

#include "base/math.h"

namespace smartmig {
namespace {
constexpr Time kLeastOverrun{1'000'000};
}

std::uint64_t Identity::fresh() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Cluster::Cluster(std::shared_ptr<const Platform> platform, std::shared_ptr<const JobTable> jobs, CostModel cost,
                 std::vector<Layout> initial, Time now)
    : platform_(std::move(platform)),
      jobs_(std::move(jobs)),
      cost_(cost),
      now_(now),
      gpus_(platform_->gpus()),
      states_(jobs_->size()) {
  SMARTMIG_CHECK(initial.size() == gpus_.size(), "{} initial layouts for {} GPUs", initial.size(), gpus_.size());
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    gpus_[g].layout = gpus_[g].target = initial[g];
    gpus_[g].since = now;
    gpus_[g].job_at.fill(kNoJob);
    refresh_power(GpuId(g), gpus_[g]);
  }
}

void Cluster::settle(GpuState& gpu) {
  if (gpu.since == now_) return;
  const double dt = seconds(now_ - gpu.since);
  gpu.joules += gpu.watts * dt;
  gpu.meter += gpu.active_per_weight * dt;
  gpu.slice_us += gpu.busy_slices * (now_ - gpu.since).count();
  gpu.since = now_;
}

// Computed from scratch each time: watts depend on what runs, not on the order of arrival, and keep no rounding
// residue.
void Cluster::refresh_power(GpuId id, GpuState& gpu) {
  const Platform::Model& model = platform_->model(id);
  gpu.added = 0;
  gpu.weight = gpu.computing;
  if (!model.power.is_table()) {
    gpu.weight = 0;
    for (PlacementId p : gpu.busy) {
      const JobId job = gpu.job_at[index(p)];
      if (jobs_->job(job).idle) continue;
      const double added = jobs_->added_watts(job, model.type_of_placement[index(p)]) / crowding(job);
      gpu.added += added;
      gpu.weight += model.energy_weight(p, added);
    }
  }
  gpu.watts = model.power.watts(gpu.computing, gpu.added);
  gpu.active_per_weight = gpu.weight > 0 ? (gpu.watts - model.power.idle()) / gpu.weight : 0;
}

void Cluster::pass(Time now) {
  SMARTMIG_CHECK(now >= now_, "the clock goes back from {} us to {} us", now_.count(), now.count());
  now_ = now;
}

void Cluster::apply(const Event& event) {
  SMARTMIG_CHECK(event.at >= now_, "event at {} us after the clock reached {} us", event.at.count(), now_.count());
  now_ = event.at;
  switch (event.kind) {
    case EventKind::kSubmitted: {
      JobState& job = states_[index(event.job)];
      const bool anew = job.phase == JobPhase::kWithdrawn && job.type == kNoType;
      SMARTMIG_CHECK(job.phase == JobPhase::kAbsent || anew, "job {} submitted twice", index(event.job));
      const auto arrival = std::uint32_t(counters_.arrivals++);
      const std::uint32_t place = anew ? job.arrival : arrival;  // one that comes back has its old place
      job = {};
      job.phase = JobPhase::kQueued;
      job.arrival = place;
      JobId before = tail_;
      while (anew && before != kNoJob && states_[index(before)].arrival > place)
        before = states_[index(before)].previous;
      job.previous = before;
      job.next = before == kNoJob ? head_ : states_[index(before)].next;
      (before == kNoJob ? head_ : states_[index(before)].next) = event.job;
      (job.next == kNoJob ? tail_ : states_[index(job.next)].previous) = event.job;
      ++unfinished_;
      news_.push_back(event);
      return;
    }
    case EventKind::kFinished: {
      JobState& job = states_[index(event.job)];
      SMARTMIG_CHECK(job.phase == JobPhase::kRunning, "job {} finished without running", index(event.job));
      leave_slice(event.job, job);
      job.phase = JobPhase::kDone;
      job.finish = now_;
      job.remaining = Time{0};
      remove_unfinished(event.job);
      ++counters_.completions;
      news_.push_back(event);
      return;
    }
    case EventKind::kStarted:
      start(event);
      return;
    case EventKind::kStopped: {
      JobState& job = states_[index(event.job)];
      job.remaining = std::max(Time{0}, time_left(event.job));  // a late job is about to finish
      leave_slice(event.job, job);
      job.phase = JobPhase::kQueued;
      job.stopped_in = decision_;
      ++job.stops;
      ++counters_.preemptions;
      return;
    }
    case EventKind::kReshapeAsked:
      gpus_[index(event.gpu)].target = event.layout;
      ++counters_.repartitions;
      return;
    case EventKind::kDestroyed: {
      GpuState& gpu = gpus_[index(event.gpu)];
      SMARTMIG_CHECK((gpu.busy & event.layout).empty(), "GPU {}: a busy slice was destroyed", index(event.gpu));
      gpu.layout = gpu.layout - event.layout;
      news_.push_back(event);
      return;
    }
    case EventKind::kCreated: {
      GpuState& gpu = gpus_[index(event.gpu)];
      const GpuModel& model = *platform_->model(event.gpu).gpu;
      for (PlacementId p : event.layout) {
        const auto next = model.with(gpu.layout, p);
        SMARTMIG_CHECK(next.has_value(), "GPU {}: placement {} created over another", index(event.gpu), index(p));
        gpu.layout = *next;
      }
      news_.push_back(event);
      return;
    }
    case EventKind::kWithdrawn: {
      JobState& job = states_[index(event.job)];
      SMARTMIG_CHECK(job.phase == JobPhase::kRunning || job.phase == JobPhase::kQueued, "job {} withdrawn twice",
                     index(event.job));
      if (job.phase == JobPhase::kRunning) leave_slice(event.job, job);
      job.phase = JobPhase::kWithdrawn;
      job.finish = now_;
      ++counters_.withdrawals;
      remove_unfinished(event.job);
      identity_ = Identity();
      news_.push_back(event);
      return;
    }
    case EventKind::kOverrun: {
      JobState& job = states_[index(event.job)];
      SMARTMIG_CHECK(job.phase == JobPhase::kRunning, "job {} overran without running", index(event.job));
      job.finish = now_ + std::max(kLeastOverrun, (now_ - job.since) / 2);
      news_.push_back(event);
      return;
    }
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      gpus_[index(event.gpu)].blocked = event.kind == EventKind::kBlocked;
      identity_ = Identity();
      news_.push_back(event);
      return;
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      find(event);
      identity_ = Identity();
      news_.push_back(event);
      return;
  }
}

Cluster Cluster::renumbered(std::shared_ptr<const JobTable> jobs, std::span<const JobId> keep) const {
  Cluster out = *this;
  out.jobs_ = std::move(jobs);
  out.states_.assign(out.jobs_->size(), {});
  out.news_.clear();
  std::vector<JobId> now_called(states_.size(), kNoJob);
  out.head_ = out.tail_ = kNoJob;
  std::size_t unfinished = 0;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const JobId id{std::uint32_t(i)};
    JobState& job = out.states_[i] = states_[index(keep[i])];
    now_called[index(keep[i])] = id;
    job.previous = job.next = kNoJob;
    if (job.phase != JobPhase::kQueued && job.phase != JobPhase::kRunning) continue;
    job.previous = out.tail_;
    (out.tail_ == kNoJob ? out.head_ : out.states_[index(out.tail_)].next) = id;
    out.tail_ = id;
    ++unfinished;
  }
  SMARTMIG_CHECK(unfinished == unfinished_, "{} of {} unfinished jobs are kept", unfinished, unfinished_);
  for (GpuState& gpu : out.gpus_)
    for (JobId& job : gpu.job_at)
      if (job != kNoJob) job = now_called[index(job)];
  return out;
}

void Cluster::start(const Event& event) {
  JobState& job = states_[index(event.job)];
  const TypeId type = platform_->type_of(event.gpu, event.where);
  if (job.type == kNoType) {
    job.remaining = jobs_->work(event.job, type);
    job.first_start = now_;
    job.since = now_;
  } else {
    job.remaining = remaining_on(event.job, type);
    job.since = cost_.free() ? now_ : now_ + std::max(Time{0}, jobs_->job(event.job).restart);
    if (job.stopped_in == decision_ &&
        platform_->type(job.type).compute_slices == platform_->type(type).compute_slices) {
      --counters_.preemptions;
      ++counters_.moves;
    }
  }
  job.finish = job.since + job.remaining;
  take_slice(event, job);
}

// Its run is taken to begin when the finished part of its work would have begun, but not before it was submitted. A job
// with less than nothing left has run that much longer than its work, and overruns.
void Cluster::find(const Event& event) {
  JobState& job = states_[index(event.job)];
  SMARTMIG_CHECK(job.phase == JobPhase::kQueued && job.type == kNoType, "job {} was found and is known to have run",
                 index(event.job));
  const TypeId type = platform_->type_of(event.gpu, event.where);
  job.remaining = event.left;
  if (event.kind == EventKind::kFoundWaiting) {
    job.type = type;
    job.gpu = event.gpu;
    job.first_start = now_;
    return;
  }
  const Time whole = jobs_->work(event.job, type), ran = whole - event.left;
  job.since = now_ - std::max(Time{0}, ran);
  job.first_start = std::min(now_, std::max(job.since, jobs_->job(event.job).submit));
  job.finish = now_ + (event.left < Time{0} ? std::max(kLeastOverrun, ran / 2) : event.left);  // as after kOverrun
  job.remaining = event.left < Time{0} ? whole : job.finish - job.since;
  take_slice(event, job);
}

double Cluster::crowding_of(JobId id) const {
  const Crowding& crowding = jobs_->job(id).crowding;
  if (crowding.log_slowdown == 0) return 1;
  const JobState& job = states_[index(id)];
  const Platform::Model& model = platform_->model(job.gpu);
  const int others = gpus_[index(job.gpu)].computing - model.slices_of_placement[index(job.where)];
  return crowding.factor(double(others) / model.gpu->compute_slices());
}

double Cluster::energy_weight(JobId id) const {
  if (jobs_->job(id).idle) return 0;
  const JobState& job = states_[index(id)];
  return platform_->model(job.gpu).energy_weight(job.where, jobs_->added_watts(id, job.type) / crowding(id));
}

void Cluster::book_joules(JobId id) {
  JobState& job = states_[index(id)];
  const double meter = gpus_[index(job.gpu)].meter;
  job.joules += energy_weight(id) * (meter - job.meter_mark);
  job.meter_mark = meter;
}

// Call before weights change. REQUIRES: settled.
void Cluster::book_crowded(const GpuState& gpu) {
  if (!jobs_->has_crowding()) return;
  for (PlacementId p : gpu.busy) book_joules(gpu.job_at[index(p)]);
}

// The set of computing jobs on the GPU has changed, so all of them run faster or slower from now. `came`: the new job,
// whose finish is by the job table; kNoJob: one left.
void Cluster::crowd(GpuId id, GpuState& gpu, JobId came) {
  const Platform::Model& model = platform_->model(id);
  const int before = gpu.computing;
  gpu.computing = gpu.busy_slices;
  if (jobs_->has_idle())
    for (PlacementId p : gpu.busy)
      if (jobs_->job(gpu.job_at[index(p)]).idle) gpu.computing -= model.slices_of_placement[index(p)];
  if (!jobs_->has_crowding()) return;
  const double more = double(gpu.computing - before) / model.gpu->compute_slices();
  for (PlacementId p : gpu.busy) {
    const JobId one = gpu.job_at[index(p)];
    const double slows = jobs_->job(one).crowding.log_slowdown;
    JobState& job = states_[index(one)];
    const Time from = std::max(now_, job.since);
    if (slows == 0 || job.finish <= from) continue;
    const double factor = one == came ? crowding_of(one) : deterministic_exp(slows * more);
    job.finish = from + rounded(double((job.finish - from).count()) * factor);
  }
}

void Cluster::take_slice(const Event& event, JobState& job) {
  GpuState& gpu = gpus_[index(event.gpu)];
  const Platform::Model& model = platform_->model(event.gpu);
  settle(gpu);
  book_crowded(gpu);
  job.phase = JobPhase::kRunning;
  job.type = model.type_of_placement[index(event.where)];
  job.gpu = event.gpu;
  job.where = event.where;
  ++running_;
  gpu.job_at[index(event.where)] = event.job;
  gpu.busy = model.gpu->subset(gpu.layout, gpu.busy.bits() | 1u << index(event.where));
  gpu.busy_slices += model.slices_of_placement[index(event.where)];
  job.meter_mark = gpu.meter;
  crowd(event.gpu, gpu, event.job);
  refresh_power(event.gpu, gpu);
}

void Cluster::leave_slice(JobId id, JobState& job) {
  GpuState& gpu = gpus_[index(job.gpu)];
  const Platform::Model& model = platform_->model(job.gpu);
  settle(gpu);
  book_joules(id);
  book_crowded(gpu);
  gpu.job_at[index(job.where)] = kNoJob;
  gpu.busy = gpu.busy.without(job.where);
  gpu.busy_slices -= model.slices_of_placement[index(job.where)];
  crowd(job.gpu, gpu, kNoJob);
  refresh_power(job.gpu, gpu);
  job.where = kNoPlacement;
  --running_;
}

void Cluster::remove_unfinished(JobId id) {
  JobState& job = states_[index(id)];
  (job.previous == kNoJob ? head_ : states_[index(job.previous)].next) = job.next;
  (job.next == kNoJob ? tail_ : states_[index(job.next)].previous) = job.previous;
  job.previous = job.next = kNoJob;
  --unfinished_;
}

Refusal Cluster::refusal_of_stop(JobId id) const {
  if (index(id) >= states_.size()) return Refusal::kNoSuchJob;
  if (states_[index(id)].phase != JobPhase::kRunning) return Refusal::kNotRunning;
  if (!cost_.free() && jobs_->job(id).restart < Time{0}) return Refusal::kNotPreemptible;
  return Refusal::kNone;
}

Refusal Cluster::refusal_of_reshape(const Reshape& reshape) const {
  if (index(reshape.gpu) >= gpus_.size()) return Refusal::kNoSuchGpu;
  // With free repartitioning the change is instantaneous: what goes must be idle already.
  const GpuState& gpu = gpus_[index(reshape.gpu)];
  if (gpu.blocked) return Refusal::kGpuBlocked;
  if (cost_.free() && !reshape.to.contains(gpu.busy)) return Refusal::kSliceBusy;
  return Refusal::kNone;
}

Refusal Cluster::refusal_of_start(const Start& start) const {
  if (index(start.job) >= states_.size()) return Refusal::kNoSuchJob;
  if (index(start.gpu) >= gpus_.size()) return Refusal::kNoSuchGpu;
  if (states_[index(start.job)].phase != JobPhase::kQueued) return Refusal::kNotQueued;
  const GpuState& gpu = gpus_[index(start.gpu)];
  if (gpu.blocked) return Refusal::kGpuBlocked;
  if (index(start.where) >= 32 || !gpu.layout.contains(start.where)) return Refusal::kNoSuchSlice;
  if (!gpu.target.contains(start.where)) return Refusal::kSliceGoing;
  if (gpu.busy.contains(start.where)) return Refusal::kSliceBusy;
  if (jobs_->work(start.job, platform_->type_of(start.gpu, start.where)) < Time{0}) return Refusal::kDoesNotFit;
  return Refusal::kNone;
}

Time Cluster::remaining_on(JobId id, TypeId type) const {
  const JobState& job = states_[index(id)];
  const Time whole = jobs_->work(id, type);
  if (job.type == kNoType || whole < Time{0}) return whole;
  const Time left = time_left(id);
  const Time whole_there = jobs_->work(id, job.type);
  if (whole == whole_there) return left;
  if (whole_there == Time{0}) return Time{0};
  return rounded(double(left.count()) * double(whole.count()) / double(whole_there.count()));
}

Time Cluster::finish_on(JobId id, TypeId type) const {
  const Time left = remaining_on(id, type);
  if (left < Time{0}) return kNever;
  const JobState& job = states_[index(id)];
  if (job.phase == JobPhase::kRunning && job.type == type) return job.finish;
  const bool resumes = job.type != kNoType && !cost_.free();
  return now_ + (resumes ? std::max(Time{0}, jobs_->job(id).restart) : Time{0}) + left;
}

double Cluster::joules(GpuId id) const {
  const GpuState& gpu = gpus_[index(id)];
  return gpu.joules + gpu.watts * seconds(now_ - gpu.since);
}

double Cluster::total_joules() const {
  double total = 0;
  for (std::size_t g = 0; g < gpus_.size(); ++g) total += joules(GpuId(g));
  return total;
}

double Cluster::attributed_joules(JobId id) const {
  const JobState& job = states_[index(id)];
  if (job.phase != JobPhase::kRunning) return job.joules;
  const GpuState& gpu = gpus_[index(job.gpu)];
  return job.joules +
         energy_weight(id) * (gpu.meter + gpu.active_per_weight * seconds(now_ - gpu.since) - job.meter_mark);
}

std::string explain(const Cluster& cluster, Refusal refusal, JobId job, GpuId gpu, PlacementId where) {
  const std::string who = index(job) < cluster.jobs().size()
                              ? fmt::format("job {}", cluster.jobs().workload().name_of(index(job)))
                              : fmt::format("job #{}", index(job));
  const std::string slice = fmt::format("GPU {} placement {}", index(gpu), index(where));
  switch (refusal) {
    case Refusal::kNone:
      return "allowed";
    case Refusal::kNoSuchJob:
      return who + " does not exist";
    case Refusal::kNotQueued:
      return who + " is not waiting";
    case Refusal::kNotRunning:
      return who + " is not running";
    case Refusal::kNotPreemptible:
      return who + " cannot be preempted: it is not restartable";
    case Refusal::kNoSuchGpu:
      return fmt::format("GPU {} does not exist", index(gpu));
    case Refusal::kNoSuchSlice:
      return slice + " does not exist now";
    case Refusal::kSliceGoing:
      return slice + " is about to be destroyed";
    case Refusal::kSliceBusy:
      return slice + " is busy";
    case Refusal::kDoesNotFit:
      return fmt::format("{} does not fit on {}", who, slice);
    case Refusal::kGpuBlocked:
      return fmt::format("GPU {} takes no new work: it is drained or in quarantine", index(gpu));
  }
  return "unknown";
}

}  // namespace smartmig
