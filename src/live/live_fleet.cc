#include "live/live_fleet.h"

#include <algorithm>

namespace smartmig {
namespace {
constexpr Time kFirstPause{5'000'000}, kLongestPause{300'000'000};
}

LiveFleet::LiveFleet(const Cluster& cluster)
    : reshapes_(cluster), retries_(cluster.gpus().size()), now_(cluster.now()) {}

void LiveFleet::tell(const Event& event) {
  switch (event.kind) {
    case EventKind::kWithdrawn: {
      // Withdrawals are told first: who leaves before its arrival was told of is not told of at all, and its overrun
      // is nobody's.
      const auto of_this_job = [&](const Event& other) { return other.job == event.job; };
      std::erase_if(ended_, [&](const Event& end) { return end.kind == EventKind::kOverrun && of_this_job(end); });
      if (std::erase_if(arrived_, of_this_job) == 0) withdrawn_.push_back(event);
      return;
    }
    case EventKind::kFinished:
    case EventKind::kOverrun:
      ended_.push_back(event);
      return;
    case EventKind::kCreated:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      changed_.push_back(event);
      return;
    case EventKind::kSubmitted:
      arrived_.push_back(event);
      return;
    case EventKind::kStarted:
    case EventKind::kStopped:
    case EventKind::kReshapeAsked:
    case EventKind::kDestroyed:
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      SMARTMIG_CHECK(false, "an event of kind {} cannot come from the world", int(event.kind));
  }
}

void LiveFleet::forget(JobId job) {
  for (std::deque<Event>* told : {&withdrawn_, &ended_, &arrived_})
    std::erase_if(*told, [&](const Event& event) { return event.job == job; });
}

void LiveFleet::look_again(GpuId gpu) {
  reshapes_.asked(gpu);
  retries_[index(gpu)] = {};
}

void LiveFleet::operation_succeeded(GpuId gpu) {
  reshapes_.ended(gpu);
  retries_[index(gpu)] = {};
}

void LiveFleet::destroyed(GpuId gpu) { changed_.push_back(DestroyEnded{gpu}); }

// The GPU stays in its operation until the event is told: before that nobody knows that the slice is there.
void LiveFleet::created(GpuId gpu, Time at, Layout what) { tell(Event::created(at, gpu, what)); }

Time LiveFleet::operation_failed(GpuId gpu, Time now) {
  reshapes_.ended(gpu);
  Retry& retry = retries_[index(gpu)];
  retry.pause = retry.pause == Time{0} ? kFirstPause : std::min(kLongestPause, 2 * retry.pause);
  return retry.at = now + retry.pause;
}

Time LiveFleet::next_retry() const {
  Time earliest = kNever;
  for (const GpuId gpu : reshapes_.under_way())
    if (const Time at = retries_[index(gpu)].at; !operating(gpu) && at > now_) earliest = std::min(earliest, at);
  return earliest;
}

bool LiveFleet::also_happens(const Cluster& cluster, Event& event) {
  if (cluster.cost().free() || !withdrawn_.empty()) return false;
  const auto take = [&](std::deque<Event>& from) {
    event = from.front();
    event.at = std::max(event.at, cluster.now());
    from.pop_front();
    return true;
  };
  const auto could_be_stopped = [&](const Event& end) { return cluster.jobs().job(end.job).restart >= Time{0}; };
  const bool ended = event.kind == EventKind::kFinished && !ended_.empty() && ended_.front().at <= cluster.now();
  if (ended || std::any_of(ended_.begin(), ended_.end(), could_be_stopped)) return take(ended_);
  return event.kind == EventKind::kSubmitted && arrival_next() && arrived_.front().at <= cluster.now() &&
         take(arrived_);
}

bool LiveFleet::next(const Cluster& cluster, Event& event) {
  const auto give = [&](const Event& told) {
    event = told;
    event.at = std::max(event.at, cluster.now());
    return true;
  };
  const auto take = [&](std::deque<Event>& from) {
    give(from.front());
    from.pop_front();
    return true;
  };
  for (;;) {
    if (!withdrawn_.empty()) return take(withdrawn_);
    if (!ended_.empty()) return take(ended_);
    if (begin_operations(cluster, event)) return true;
    if (changed_.empty()) return !arrived_.empty() && take(arrived_);
    const auto change = changed_.front();
    changed_.pop_front();
    if (const auto* destroy = std::get_if<DestroyEnded>(&change)) {
      operation_succeeded(destroy->gpu);
      continue;
    }
    const Event& told = std::get<Event>(change);
    // A slice that is still there after a failed destroy leaves the pause as it is.
    if (told.kind == EventKind::kCreated && operating(told.gpu)) operation_succeeded(told.gpu);
    return give(told);
  }
}

bool LiveFleet::begin_operations(const Cluster& cluster, Event& event) {
  return reshapes_.begin_operations(
      cluster, [&](GpuId gpu) { return retries_[index(gpu)].at <= now_ && !cluster.gpu(gpu).blocked; },
      [&](const InstanceChange& change) {
        for (PlacementId p : change.destroys) effects_.push_back({Effect::kDestroy, kNoJob, change.gpu, p});
        for (PlacementId p : change.creates) effects_.push_back({Effect::kCreate, kNoJob, change.gpu, p});
        if (change.destroys.empty()) return false;
        event = Event::destroyed(std::max(now_, cluster.now()), change.gpu, change.destroys);
        return true;
      });
}

void LiveFleet::begin(const Cluster& cluster, const Event& action, std::vector<Event>&) {
  switch (action.kind) {
    case EventKind::kStarted:
      effects_.push_back({Effect::kStart, action.job, action.gpu, action.where});
      return;
    case EventKind::kStopped:
      effects_.push_back({Effect::kStop, action.job, cluster.state(action.job).gpu, kNoPlacement});
      return;
    case EventKind::kReshapeAsked:
      reshapes_.asked(action.gpu);
      return;
    case EventKind::kSubmitted:
    case EventKind::kFinished:
    case EventKind::kDestroyed:
    case EventKind::kCreated:
    case EventKind::kWithdrawn:
    case EventKind::kOverrun:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
    case EventKind::kFoundRunning:
    case EventKind::kFoundWaiting:
      return;  // no actions
  }
}

}  // namespace smartmig
