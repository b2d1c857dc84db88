#include "sim/two_worlds.h"

#include <algorithm>
#include <utility>

namespace smartmig {
namespace {

constexpr Time kOverrunGrace{1'000'000};

}  // namespace

TwoWorlds::TwoWorlds(Cluster truth, Journal* journal, std::unique_ptr<Fleet> world)
    : truth_(std::move(truth)),
      journal_(journal),
      world_(world ? std::move(world) : std::make_unique<SimFleet>(truth_)),
      expected_(truth_.jobs().size()) {}

void TwoWorlds::expect_running(const Cluster& cluster) {
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job))
    if (cluster.state(job).phase == JobPhase::kRunning) expected_.push(job, cluster.state(job).finish);
}

void TwoWorlds::happens(const Event& event) {
  if (journal_) journal_->append(event);
  truth_.apply(event);
  if (event.kind == EventKind::kFinished && expected_.contains(event.job)) expected_.remove(event.job);
  happened(event);
}

bool TwoWorlds::next(const Cluster& cluster, Event& event) {
  truth_.end_decision(false);
  truth_.begin_decision();
  if (const JobId job = std::exchange(overran_, kNoJob);
      job != kNoJob && cluster.state(job).phase == JobPhase::kRunning && !expected_.contains(job))
    expected_.push(job, cluster.state(job).finish);
  // Neighbours may have moved an end after it was noted.
  while (!expected_.empty() && cluster.state(expected_.top().job).finish > expected_.top().finish)
    expected_.move(expected_.top().job, cluster.state(expected_.top().job).finish);
  const Time overrun = expected_.empty() ? kNever : std::max(cluster.now(), expected_.top().finish + kOverrunGrace);
  world_->stop_before(std::min(overrun, horizon_));
  if (world_->next(truth_, event)) {
    happens(event);
    event = believed(event);
    return true;
  }
  if (expected_.empty() || overrun > horizon_) return false;
  overran_ = expected_.top().job;
  expected_.pop();
  event = Event::overrun(overrun, overran_);
  return true;
}

bool TwoWorlds::also_happens(const Cluster& cluster, Event& event) {
  if (event.kind == EventKind::kOverrun || !world_->also_happens(truth_, event)) return rebelieved(cluster, event);
  happens(event);
  event = believed(event);
  return true;
}

void TwoWorlds::begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) {
  happens(action);
  world_->begin(truth_, action, at_once);
  for (const Event& event : at_once) happens(event);
  if (action.kind == EventKind::kStarted) expected_.push(action.job, cluster.state(action.job).finish);
  if (action.kind == EventKind::kStopped && expected_.contains(action.job)) expected_.remove(action.job);
}

}  // namespace smartmig
