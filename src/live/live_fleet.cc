#include "live/live_fleet.h"

#include <algorithm>

namespace smartmig {
namespace {
constexpr Time kFirstPause{5'000'000}, kLongestPause{300'000'000};
}

LiveFleet::LiveFleet(const Cluster& cluster) : lanes_(cluster.gpus().size()), now_(cluster.now()) {
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g)
    if (cluster.gpus()[g].layout != cluster.gpus()[g].target) {
      reshaping_.push_back(GpuId(g));
      lanes_[g].listed = true;
    }
}

void LiveFleet::tell(const Event& event) {
  switch (event.kind) {
    case EventKind::kWithdrawn:
      withdrawn_.push_back(event);
      return;
    case EventKind::kSubmitted:
      arrived_.push_back(event);
      return;
    case EventKind::kCreated:
    case EventKind::kDestroyed:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
      changed_.push_back(event);
      return;
    default:
      ended_.push_back(event);
  }
}

void LiveFleet::free_lane(GpuId gpu) { lanes_[index(gpu)] = {false, lanes_[index(gpu)].listed, {}, {}}; }

// One after the other, as they are told: what one operation leads to comes before the end of the next.
void LiveFleet::destroyed(GpuId gpu) { tell(Event::destroyed({}, gpu, {})); }

// The lane stays busy until the event is told: before that nobody knows that the slice is there.
void LiveFleet::created(GpuId gpu, Time at, Layout what) { tell(Event::created(at, gpu, what)); }

Time LiveFleet::operation_failed(GpuId gpu, Time now) {
  Lane& lane = lanes_[index(gpu)];
  lane.busy = false;
  lane.pause = lane.pause == Time{0} ? kFirstPause : std::min(kLongestPause, 2 * lane.pause);
  return lane.retry = now + lane.pause;
}

Time LiveFleet::next_retry() const {
  Time earliest = kNever;
  for (const GpuId gpu : reshaping_)
    if (const Lane& lane = lanes_[index(gpu)]; !lane.busy && lane.retry > now_)
      earliest = std::min(earliest, lane.retry);
  return earliest;
}

bool LiveFleet::next(const Cluster& cluster, Event& event) {
  const auto take = [&](std::deque<Event>& from) {
    event = from.front();
    from.pop_front();
    event.at = std::max(event.at, cluster.now());
    // A slice that is still there after a failed destroy leaves the pause as it is.
    if (event.kind == EventKind::kCreated && operating(event.gpu)) free_lane(event.gpu);
    return true;
  };
  for (;;) {
    if (!withdrawn_.empty()) return take(withdrawn_);
    if (!ended_.empty()) return take(ended_);
    if (begin_operations(cluster, event)) return true;
    if (changed_.empty()) break;
    if (changed_.front().kind != EventKind::kDestroyed) return take(changed_);
    free_lane(changed_.front().gpu);  // was told of when it began
    changed_.pop_front();
  }
  return !arrived_.empty() && take(arrived_);
}

bool LiveFleet::begin_operations(const Cluster& cluster, Event& event) {
  for (std::size_t i = 0; i < reshaping_.size();) {
    const GpuId gpu = reshaping_[i];
    Lane& lane = lanes_[index(gpu)];
    if (!lane.busy && cluster.gpu(gpu).layout == cluster.gpu(gpu).target) {
      lane.listed = false;
      reshaping_.erase(reshaping_.begin() + std::ptrdiff_t(i));
      continue;
    }
    ++i;
    if (!lane.busy && lane.retry <= now_ && !cluster.gpu(gpu).blocked && begin_operation(cluster, gpu, event))
      return true;
  }
  return false;
}

bool LiveFleet::begin_operation(const Cluster& cluster, GpuId gpu, Event& event) {
  const GpuState& state = cluster.gpu(gpu);
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  if (const Layout going = state.layout - state.target - state.busy; !going.empty()) {
    const PlacementId p = *going.begin();
    lanes_[index(gpu)].busy = true;
    effects_.push_back({Effect::kDestroy, kNoJob, gpu, p});
    event = Event::destroyed(std::max(now_, cluster.now()), gpu, *model.with(Layout{}, p));
    return true;
  }
  for (PlacementId p : state.target - state.layout)
    if (model.fits(state.layout, p)) {
      lanes_[index(gpu)].busy = true;
      effects_.push_back({Effect::kCreate, kNoJob, gpu, p});
      return false;
    }
  return false;  // a busy slice is in the way
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
      if (Lane& lane = lanes_[index(action.gpu)]; !lane.listed) {
        lane.listed = true;
        reshaping_.push_back(action.gpu);
      }
      return;
    default:
      return;
  }
}

}  // namespace smartmig
