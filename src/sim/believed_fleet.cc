#include "sim/believed_fleet.h"

#include <algorithm>
#include <utility>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr Time kOverrunGrace{1'000'000};

std::shared_ptr<JobTable> empty_table(const Cluster& truth) {
  const Workload& workload = truth.jobs().workload();
  auto table = JobTable::growing(truth.platform(), workload.reference_gpu, workload.jobs.size());
  SMARTMIG_CHECK(bool(table), "a workload that is bound has a reference model");
  return std::make_shared<JobTable>(std::move(*table));
}

}  // namespace

BelievedFleet::BelievedFleet(const EstimateRule& rule, Cluster truth, Journal* journal)
    : rule_(rule),
      truth_(std::move(truth)),
      journal_(journal),
      world_(truth_),
      table_(empty_table(truth_)),
      expected_(truth_.jobs().size()) {
  if (rule_.source != EstimateRule::Source::kNone) factors_ = told_factors(rule_, truth_.jobs().workload());
}

Cluster BelievedFleet::belief(std::shared_ptr<const Platform> platform) const {
  std::vector<Layout> layouts;
  for (const GpuState& gpu : truth_.gpus()) layouts.push_back(gpu.layout);
  return Cluster(std::move(platform), table_, truth_.cost(), std::move(layouts), truth_.now());
}

std::vector<std::string> BelievedFleet::groups_of(const Job& job) const {
  return {"", truth_.jobs().workload().kind_of(job)};
}

std::optional<double> BelievedFleet::told(JobId job) const {
  if (factors_.empty()) return {};
  return log_time(truth_.jobs().job(job)) + deterministic_log(factors_[index(job)]);
}

void BelievedFleet::put(JobId id) {
  const Workload& workload = truth_.jobs().workload();
  Job job = workload.jobs[index(id)];
  double factor = factors_.empty() ? 1 : factors_[index(id)];
  if (rule_.learned) {
    const BelievedTime belief = estimator_.believe(groups_of(job), told(id));
    factor = deterministic_exp(belief.log_median - log_time(job));
    job.spread = belief.spread;
  }
  for (Time& time : job.work)
    if (time > Time{0}) time = std::max(Time(1), rounded(double(time.count()) * factor));
  const auto put = table_->put(id, job, workload.name_of(index(id)), workload.kind_of(job), truth_.platform());
  SMARTMIG_CHECK(bool(put), "a job that runs by its true times runs by others: {}", put ? "" : put.error().what);
}

void BelievedFleet::happens(const Event& event) {
  if (journal_) journal_->append(event);
  truth_.apply(event);
  if (event.kind == EventKind::kSubmitted) return put(event.job);
  if (event.kind != EventKind::kFinished) return;
  if (expected_.contains(event.job)) expected_.remove(event.job);
  const Job& job = truth_.jobs().job(event.job);
  if (rule_.learned) estimator_.learn(groups_of(job), told(event.job), log_time(job));
}

bool BelievedFleet::next(const Cluster& cluster, Event& event) {
  truth_.end_decision(false);
  truth_.begin_decision();
  if (const JobId job = std::exchange(overran_, kNoJob);
      job != kNoJob && cluster.state(job).phase == JobPhase::kRunning && !expected_.contains(job))
    expected_.push(job, cluster.state(job).finish);
  // Neighbours may have moved an end since it was noted.
  while (!expected_.empty() && cluster.state(expected_.top().job).finish > expected_.top().finish)
    expected_.move(expected_.top().job, cluster.state(expected_.top().job).finish);
  const Time overrun = expected_.empty() ? kNever : std::max(cluster.now(), expected_.top().finish + kOverrunGrace);
  world_.stop_before(std::min(overrun, horizon_));
  if (world_.next(truth_, event)) {
    happens(event);
    return true;
  }
  if (expected_.empty() || overrun > horizon_) return false;
  overran_ = expected_.top().job;
  expected_.pop();
  event = Event::overrun(overrun, overran_);
  return true;
}

bool BelievedFleet::also_happens(const Cluster&, Event& event) {
  if (event.kind == EventKind::kOverrun || !world_.also_happens(truth_, event)) return false;
  happens(event);
  return true;
}

void BelievedFleet::begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) {
  happens(action);
  world_.begin(truth_, action, at_once);
  for (const Event& event : at_once) happens(event);
  if (action.kind == EventKind::kStarted) expected_.push(action.job, cluster.state(action.job).finish);
  if (action.kind == EventKind::kStopped && expected_.contains(action.job)) expected_.remove(action.job);
}

}  // namespace smartmig
