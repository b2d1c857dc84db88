#include "policy/layers/reserved_gpus.h"

#include <algorithm>

#include "model/reconfig.h"

namespace smartmig {
namespace {

bool keeps_gpu(const GpuWindow& window, GpuId gpu) {
  return std::find(window.gpus.begin(), window.gpus.end(), gpu) != window.gpus.end();
}

bool is_started(const Plan& plan, JobId job) {
  return std::any_of(plan.starts.begin(), plan.starts.end(), [&](const Start& s) { return s.job == job; });
}

bool is_reshaped(const Plan& plan, GpuId gpu) {
  return std::any_of(plan.reshapes.begin(), plan.reshapes.end(), [&](const Reshape& r) { return r.gpu == gpu; });
}

}  // namespace

const GpuWindow* window_on(const GpuWindows& windows, GpuId gpu, Time now) {
  const auto at =
      std::find_if(windows.begin(), windows.end(), [&](const GpuWindow& w) { return w.on(now) && keeps_gpu(w, gpu); });
  return at == windows.end() ? nullptr : &*at;
}

const GpuWindow* window_after(const GpuWindows& windows, GpuId gpu, Time now) {
  const GpuWindow* next = nullptr;
  for (const GpuWindow& window : windows)
    if (window.begin > now && keeps_gpu(window, gpu) && (!next || window.begin < next->begin)) next = &window;
  return next;
}

const GpuWindow* window_against(const GpuWindows& windows, const Cluster& cluster, JobId job, GpuId gpu, TypeId type) {
  if (const GpuWindow* window = window_on(windows, gpu, cluster.now()))
    return window->tag == cluster.jobs().job(job).reservation ? nullptr : window;
  const GpuWindow* next = window_after(windows, gpu, cluster.now());
  return next && cluster.finish_on(job, type) > next->begin ? next : nullptr;
}

// Determines who may use which GPUs. A GPU with a future window is set apart as soon as some job could be too long for
// it.
void ReservedGpus::look(const Cluster& cluster) {
  open_.assign(cluster.gpus().size(), Open::kToAll);
  waiting_.clear();
  apart_ = false;
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (cluster.state(job).phase != JobPhase::kQueued) continue;
    waiting_.push_back(job);
    apart_ |= cluster.jobs().job(job).reservation != 0;
  }
  for (std::size_t g = 0; g < open_.size(); ++g) {
    const GpuId gpu{std::uint32_t(g)};
    if (window_on(*windows_, gpu, cluster.now())) {
      open_[g] = Open::kInWindow;
    } else if (const GpuWindow* next = window_after(*windows_, gpu, cluster.now())) {
      const auto too_long = [&](JobId job) {
        const auto& types = cluster.platform().model(gpu).type_of_placement;
        return cluster.jobs().job(job).reservation == 0 && std::any_of(types.begin(), types.end(), [&](TypeId type) {
                 return type != kNoType && cluster.jobs().work(job, type) >= Time{0} &&
                        cluster.finish_on(job, type) > next->begin;
               });
      };
      if (std::any_of(waiting_.begin(), waiting_.end(), too_long)) open_[g] = Open::kBeforeWindow;
    }
    apart_ |= open_[g] != Open::kToAll;
  }
}

// It ends in time on some slice of some GPU with a future window.
bool ReservedGpus::fits_before(const Cluster& cluster, JobId job) const {
  for (std::size_t g = 0; g < open_.size(); ++g) {
    if (open_[g] != Open::kBeforeWindow || cluster.gpus()[g].blocked) continue;
    for (const TypeId type : cluster.platform().model(GpuId(g)).type_of_placement)
      if (type != kNoType && cluster.jobs().work(job, type) >= Time{0} &&
          !window_against(*windows_, cluster, job, GpuId(g), type))
        return true;
  }
  return false;
}

Policy& ReservedGpus::policy_of(std::uint64_t tag) {
  std::unique_ptr<Policy>& policy = others_[tag];
  if (!policy) policy = another_();
  return *policy;
}

void ReservedGpus::ask(Policy& policy, const Cluster& cluster, const std::function<bool(GpuId)>& gpu_is_in,
                       const std::function<bool(JobId)>& job_is_in, Plan& plan) {
  parts_.push_back({&policy, cluster});
  Cluster& view = parts_.back().view;
  for (std::size_t g = 0; g < open_.size(); ++g)
    if (!gpu_is_in(GpuId(g)) && !view.gpus()[g].blocked) view.apply(Event::blocked(view.now(), GpuId(g)));
  for (const JobId job : waiting_)
    if (!job_is_in(job)) view.apply(Event::withdrawn(view.now(), job));
  Plan part;
  policy.decide(view, part);
  plan.look_again = std::min(plan.look_again, part.look_again);
  for (const JobId job : part.stops)
    if (gpu_is_in(cluster.state(job).gpu)) plan.stops.push_back(job);
  for (const Reshape& reshape : part.reshapes)
    if (gpu_is_in(reshape.gpu)) plan.reshapes.push_back(reshape);
  for (const Start& start : part.starts)
    if (gpu_is_in(start.gpu)) plan.starts.push_back(start);
}

// On the slice where it ends first and in time: a free one, else one that an idle GPU can create.
void ReservedGpus::start_in_time(const Cluster& cluster, JobId job, Plan& plan) const {
  Start best{job, kNoGpu, kNoPlacement};
  Time soonest = kNever;
  bool there = false;
  for (std::size_t g = 0; g < open_.size(); ++g) {
    const GpuState& gpu = cluster.gpus()[g];
    if (open_[g] != Open::kBeforeWindow || gpu.blocked || is_reshaped(plan, GpuId(g))) continue;
    const Platform::Model& model = cluster.platform().model(GpuId(g));
    Layout free_there = gpu.free();
    for (const Start& start : plan.starts)
      if (start.gpu == GpuId(g)) free_there = free_there.without(start.where);
    const bool idle = free_there == gpu.target && gpu.busy.empty();
    for (std::size_t p = 0; p < model.type_of_placement.size(); ++p) {
      const PlacementId where{std::uint8_t(p)};
      const TypeId type = model.type_of_placement[p];
      const bool free = free_there.contains(where);
      if (type == kNoType || (!free && (!idle || there)) || cluster.jobs().work(job, type) < Time{0}) continue;
      if (window_against(*windows_, cluster, job, GpuId(g), type)) continue;
      const Time finish = cluster.finish_on(job, type);
      if (free == there && finish >= soonest) continue;
      best = {job, GpuId(g), where};
      soonest = finish;
      there = free;
    }
  }
  if (best.gpu == kNoGpu) return;
  if (there)
    plan.starts.push_back(best);
  else
    plan.reshapes.push_back({best.gpu, *cluster.platform().model(best.gpu).gpu->with(Layout{}, best.where)});
}

// Stops nobody for these. If the policy chose a slice on which a job would be too slow, looks for another.
void ReservedGpus::fill_before_windows(const Cluster& cluster, Plan& plan) {
  const auto in_time = [&](JobId job) {
    return cluster.jobs().job(job).reservation == 0 && !is_started(plan, job) && fits_before(cluster, job);
  };
  std::vector<JobId> fitting;
  std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(fitting), in_time);
  if (fitting.empty()) return;
  Plan part;
  ask(
      policy_of(0), cluster, [&](GpuId gpu) { return open_[index(gpu)] == Open::kBeforeWindow; },
      [&](JobId job) { return std::find(fitting.begin(), fitting.end(), job) != fitting.end(); }, part);
  plan.look_again = std::min(plan.look_again, part.look_again);
  bool left_out = false;
  for (const Reshape& reshape : part.reshapes)
    if ((cluster.gpu(reshape.gpu).busy - reshape.to).empty()) plan.reshapes.push_back(reshape);
  for (const Start& start : part.starts) {
    const TypeId type = cluster.platform().type_of(start.gpu, start.where);
    const bool late = window_against(*windows_, cluster, start.job, start.gpu, type) != nullptr;
    if (!late && !cluster.gpu(start.gpu).busy.contains(start.where)) plan.starts.push_back(start);
    left_out |= late;
  }
  if (left_out)
    for (const JobId job : fitting)
      if (!is_started(plan, job)) start_in_time(cluster, job, plan);
}

void ReservedGpus::decide(const Cluster& cluster, Plan& plan) {
  look(cluster);
  parts_.clear();
  asked_about_ = cluster.identity();
  for (const GpuWindow& window : *windows_)
    for (const Time edge : {window.begin, window.end})
      if (edge > cluster.now()) plan.look_again = std::min(plan.look_again, edge);
  if (!apart_) {
    const Time edge = plan.look_again;
    inner_->decide(cluster, plan);
    plan.look_again = std::min(plan.look_again, edge);
    return;
  }
  parts_.reserve(2 + windows_->size());
  const auto tag = [&](JobId job) { return cluster.jobs().job(job).reservation; };
  ask(
      *inner_, cluster, [&](GpuId gpu) { return open_[index(gpu)] == Open::kToAll; },
      [&](JobId job) { return tag(job) == 0; }, plan);
  for (const GpuWindow& window : *windows_)
    if (window.on(cluster.now()) &&
        std::any_of(waiting_.begin(), waiting_.end(), [&](JobId job) { return tag(job) == window.tag; }))
      ask(
          policy_of(window.tag), cluster, [&](GpuId gpu) { return keeps_gpu(window, gpu); },
          [&](JobId job) { return tag(job) == window.tag; }, plan);
  fill_before_windows(cluster, plan);
  std::erase_if(others_, [&](const auto& other) {
    return other.first != 0 &&
           std::none_of(windows_->begin(), windows_->end(), [&](const GpuWindow& w) { return w.tag == other.first; });
  });
}

// Omits planned starts that a window forbids.
std::vector<PlannedStart> ReservedGpus::planned_starts(const Cluster& cluster) const {
  std::vector<PlannedStart> out;
  if (parts_.empty()) {
    out = inner_->planned_starts(cluster);
  } else if (asked_about_ == cluster.identity()) {
    for (const Part& part : parts_)
      for (const PlannedStart& one : part.policy->planned_starts(part.view))
        if (cluster.state(one.job).phase == JobPhase::kQueued) out.push_back(one);
  }
  std::erase_if(out, [&](const PlannedStart& one) {
    const std::uint64_t tag = cluster.jobs().job(one.job).reservation;
    return std::any_of(windows_->begin(), windows_->end(), [&](const GpuWindow& w) {
      return w.tag != tag && keeps_gpu(w, one.gpu) && one.start < w.end && one.finish > w.begin;
    });
  });
  return out;
}

}  // namespace smartmig
