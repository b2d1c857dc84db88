// Effects of decisions: from a start in the belief to a job that runs on its slice, and the slices themselves.
#include <algorithm>

#include "cluster/controller.h"

namespace smartmig {
namespace {

constexpr Time kShortestPause{2'000'000}, kLongestPause{300'000'000};
constexpr Time kLongestRest{3'600'000'000};  // of a job that the engine does not start

// Out of GPU memory is a failure like any other to an engine.
bool may_grow(const ClusterJob& job) { return job.outcome == ClusterJob::kFailed && job.requeue; }

}  // namespace

void ClusterController::carry_out(const LiveFleet::Effect& effect) {
  const Slice slice{index(effect.gpu), index(effect.where)};
  switch (effect.what) {
    case LiveFleet::Effect::kStart: {
      const QueueId id = session_->belief().record(effect.job);
      Tracked* job = find(id);
      SMARTMIG_CHECK(job, "the policy started a job that has ended");
      if (job->way != Way::kWaiting || occupied_.contains(slice))
        postponed_.push_back({effect, id});
      else
        start(*job, effect.gpu, effect.where);
      return;
    }
    case LiveFleet::Effect::kStop: {
      Tracked* job = find(session_->belief().record(effect.job));
      if (!job) return;
      if (job->way == Way::kPinning || job->way == Way::kReserving) {  // not released yet: it just waits on
        free_slice(*job);
        job->way = Way::kWaiting;
        return;
      }
      if (job->way == Way::kReleased) return take_back(*job, "a more urgent job needs the slice", Time{0});
      if (job->way != Way::kRunning) return;
      job->record.work.remaining = session_->share_left(job->record);
      ++job->record.counts.preempted;
      ++counts_.stops;
      if (options_.past) ++options_.past->figures.counts.preemptions;
      job->way = Way::kStopping;
      job->since = now();
      act(action(ClusterAction::kRequeue, *job));
      return;
    }
    case LiveFleet::Effect::kDestroy:
      if (occupied_.contains(slice))
        postponed_.push_back({effect, kNoId});
      else
        change(effect, false);
      return;
    case LiveFleet::Effect::kCreate:
      return change(effect, true);
  }
}

// What waited for a job to leave its slice.
void ClusterController::try_postponed() {
  std::erase_if(postponed_, [&](const Postponed& one) {
    const Slice slice{index(one.effect.gpu), index(one.effect.where)};
    if (one.effect.what == LiveFleet::Effect::kDestroy) {
      if (occupied_.contains(slice)) return false;
      change(one.effect, false);
      return true;
    }
    Tracked* job = find(one.job);
    const JobId row = session_->belief().row(one.job);
    if (!job || row == kNoJob) return true;
    const JobState& state = session_->cluster().state(row);
    if (state.phase != JobPhase::kRunning || state.gpu != one.effect.gpu || state.where != one.effect.where)
      return true;
    if (job->way != Way::kWaiting || occupied_.contains(slice)) return false;
    start(*job, one.effect.gpu, one.effect.where);
    return true;
  });
}

void ClusterController::start(Tracked& job, GpuId gpu, PlacementId where) {
  ++counts_.starts;
  hold(job, gpu, where);
  job.since = now();
  const JobRecord& record = job.record;
  admission_.charge({number(record.id), record.owner.uid, 0, record.spec.deadline, record.times.submitted,
                     record.work.estimate, record.spec.min_slices, false, false},
                    active_users_, session_->platform().total_compute_slices(),
                    session_->platform().models()[0].gpu->compute_slices());
  if (job.seen.number != 0) return reserve(job);
  job.way = Way::kPinning;  // a task of an array gets its number with a record of its own
  job.pinned = gpus_[index(gpu)].node;
  ClusterAction number = action(ClusterAction::kNumber, job);
  number.node = job.pinned;
  act(std::move(number));
}

void ClusterController::reserve(Tracked& job) {
  job.way = Way::kReserving;
  job.since = now();
  const Gpu& gpu = gpus_[index(job.gpu)];
  const Json request{{"op", "reserve"},
                     {"job", job.seen.number},
                     {"uid", job.seen.uid},
                     {"gpu", gpu.index},
                     {"slice", slice_name(model(job.gpu), job.where)}};
  post("node " + gpu.node, gpu.node, request, options_.agent_limit,
       [this, name = job.seen.name, number = job.seen.number](Result<Json> answer) { reserved(name, number, answer); });
}

void ClusterController::reserved(const ClusterJobName& name, std::uint32_t number, Result<Json> answer) {
  Tracked* job = find(name);
  if (!job || job->way != Way::kReserving || job->seen.number != number) return;  // it has ended: the slice was freed
  if (!answer) {
    say(fmt::format("job {}: could not get {}: {}", to_string(name), place(job->gpu, job->where), answer.error().what));
    if (answer.error().code == Error::kNotFound) rebuild_ = true;  // the slice has gone: what is believed is wrong
    if (answer.error().code == Error::kBusy) {  // its agent's next status tells when it is to be had again
      gpus_[index(job->gpu)].used = true;
      set_blocked(job->gpu);
    }
    job->pause = std::clamp(2 * job->pause, kShortestPause, kLongestPause);
    job->not_before = now() + job->pause;
    return went_back(*job);
  }
  job->way = Way::kReleased;
  job->given = now();
  job->given_look = look_;
  kept_.erase(number);
  release(*job);
  say(fmt::format("job {} -> {}", to_string(name), place(job->gpu, job->where)));
}

// With what the job has, or had last.
ClusterAction ClusterController::action(ClusterAction::What what, const Tracked& job) const {
  ClusterAction out;
  out.what = what;
  out.job = job.seen.name;
  out.number = job.seen.number;
  out.memo = job.seen.memo;
  if (job.gpu == kNoGpu) return out;
  const Gpu& gpu = gpus_[index(job.gpu)];
  out.node = gpu.node;
  out.gpu = gpu.index;
  out.slice = slice_name(model(job.gpu), job.where);
  return out;
}

void ClusterController::release(Tracked& job) {
  job.since = now();
  ClusterAction grant = action(ClusterAction::kGrant, job);
  grant.is_there = job.seen.given_node == grant.node && (job.pinned.empty() || job.pinned == grant.node);
  job.pinned = grant.node;
  act(std::move(grant));
}

void ClusterController::take_back(Tracked& job, const std::string& why, Time pause) {
  say(fmt::format("job {} is taken back from {}: {}", to_string(job.seen.name), place(job.gpu, job.where), why));
  ++counts_.taken_back;
  job.pause = std::clamp(std::max(pause, 2 * job.pause), Time{0}, kLongestRest);
  job.not_before = now() + job.pause;
  job.way = Way::kTakingBack;
  job.since = now();
  act(action(ClusterAction::kTakeBack, job));
}

void ClusterController::free_slice(Tracked& job) {
  if (job.gpu == kNoGpu) return;
  const Slice slice{index(job.gpu), index(job.where)};
  if (const auto at = occupied_.find(slice); at != occupied_.end() && at->second == job.seen.name) occupied_.erase(at);
  uncharge(job);
  if (job.seen.number != 0) {
    Freed freed;
    freed.account = action(ClusterAction::kAccount, job);
    freed.over = job.seen.phase == ClusterJob::kEnded;
    freed.gpu = job.gpu;
    freed.joules_before = job.joules_before;
    freed.had_mib = model(job.gpu).profile_of(job.where).memory_mib;
    freed.request = {{"op", "free"}, {"job", job.seen.number}};
    if (freed.over && may_grow(job.seen)) {
      freed.request["logs"] = job.seen.logs;
      freed.request["patterns"] = options_.settings.oom.patterns;
      freed.request["uid"] = job.seen.uid;
    }
    tell_free(gpus_[index(job.gpu)].node, std::move(freed));
  }
  job.gpu = kNoGpu;
  job.where = kNoPlacement;
}

void ClusterController::give_back(const std::string& node, std::uint32_t number, GpuId gpu) {
  post("node " + node, node, {{"op", "free"}, {"job", number}}, options_.agent_limit,
       [this, number, gpu](const Result<Json>& answer) {
         if (answer) kept_.erase(number);
         if (!answer && answer.error().code == Error::kBusy) keep(number, gpu, answer.error().what);
       });
}

// The agent does not free it: something of its job lives. It is asked again with its next status (adopt), and the GPU gets
// no jobs meanwhile.
void ClusterController::keep(std::uint32_t number, GpuId gpu, const std::string& words) {
  if (!kept_.emplace(number, gpu).second) return;
  say(words);
  gpus_[index(gpu)].kept = true;
  set_blocked(gpu);
}

void ClusterController::tell_free(const std::string& node, Freed job) {
  freeing_.insert(job.account.number);
  const Json request = job.request;
  post("node " + node, node, request, options_.agent_limit,
       [this, node, job = std::move(job)](const Result<Json>& answer) { was_freed(node, job, answer); });
}

// The joules of a job that has come to its end go to the engine's accounts.
void ClusterController::was_freed(const std::string& node, Freed job, const Result<Json>& answer) {
  if (!answer) {
    const Error::Code code = answer.error().code;
    if (code == Error::kTimeout || code == Error::kIo)
      return post_when_it_answers(node, [this, node, job = std::move(job)] { tell_free(node, job); });
  }
  freeing_.erase(job.account.number);
  if (!answer && answer.error().code == Error::kBusy) return keep(job.account.number, job.gpu, answer.error().what);
  kept_.erase(job.account.number);
  if (!answer) return say(fmt::format("job {}: {}", to_string(job.account.job), answer.error().what));
  const double joules = answer->contains("joules") ? (*answer)["joules"].get<double>() : 0;
  if (!job.over) {
    if (Tracked* waits = find(job.account.job)) waits->joules_before += joules;
    return;
  }
  if (answer->value("out_of_memory", false))
    grow({job.account.job, job.account.memo, job.had_mib}, answer->value("asked_mib", 0));
  if (!answer->contains("joules")) return;
  if (options_.past) options_.past->add_joules(queue_id(job.account.job), joules);
  job.account.joules = job.joules_before + joules;
  act(std::move(job.account));
}

// A failed job that ran out of memory waits again, for a larger slice where there is one.
void ClusterController::grow(const Failed& job, int asked_mib) {
  int least = 0, largest = 0;  // of the profiles with more memory than it had
  const int wanted = std::max(job.had_mib + 1, asked_mib);
  for (const Platform::Model& model : session_->platform().models())
    for (std::size_t i = 0; i < model.gpu->profiles().size(); ++i) {
      if (!(model.gpu->schedulable_profiles() >> i & 1)) continue;
      const int memory = model.gpu->profiles()[i].memory_mib;
      largest = std::max(largest, memory);
      if (memory >= wanted && (least == 0 || memory < least)) least = memory;
    }
  if (largest <= job.had_mib)
    return say(fmt::format("job {} ran out of {} MiB, and no slice has more: it stays failed", to_string(job.name),
                           job.had_mib));
  if (least == 0) least = largest;
  ++counts_.grown;
  if (options_.past) ++options_.past->figures.counts.oom_restarts;
  say(fmt::format("job {} ran out of {} MiB: it waits again, for {} MiB", to_string(job.name), job.had_mib, least));
  ClusterAction more;
  more.what = ClusterAction::kAskMore;
  more.job = job.name;
  more.memo = job.memo;
  more.mem_mib = least;
  act(std::move(more));
}

void ClusterController::change(const LiveFleet::Effect& effect, bool create) {
  const Gpu& gpu = gpus_[index(effect.gpu)];
  ++(create ? counts_.creates : counts_.destroys);
  const Json request{
      {"op", "change"}, {"create", create}, {"gpu", gpu.index}, {"slice", slice_name(model(effect.gpu), effect.where)}};
  post(fmt::format("gpu {}", index(effect.gpu)), gpu.node, request, options_.reshape_limit,
       [this, gpu_id = effect.gpu, where = effect.where, create, asked = now()](const Result<Json>& answer) {
         changed(gpu_id, where, create, asked, answer);
       });
}

void ClusterController::changed(GpuId gpu, PlacementId where, bool create, UnixTime asked, const Result<Json>& answer) {
  if (options_.past) options_.past->figures.reconfigured(create, bool(answer), seconds(now() - asked));
  LiveFleet& fleet = session_->fleet();
  const Layout one = *model(gpu).with(Layout{}, where);
  if (answer) {
    if (create)
      fleet.created(gpu, session_->inside_now(), one);
    else
      fleet.destroyed(gpu);
    return;
  }
  say(fmt::format("{} {} failed: {}", create ? "creating" : "removing", place(gpu, where), answer.error().what));
  fleet.operation_failed(gpu, session_->inside_now());
  // A removal was told of when it began. What the agent shows next says whether that was right.
  if (!create) session_->tell(Event::created(session_->inside_now(), gpu, one));
  Gpu& one_gpu = gpus_[index(gpu)];
  if (answer.error().code == Error::kLost) one_gpu.trouble = true;
  if (answer.error().code == Error::kTimeout) one_gpu.late = true;  // what becomes of it is seen when it has ended
  set_blocked(gpu);
}

}  // namespace smartmig
