#include "sim/believed_fleet.h"

#include <algorithm>
#include <utility>

#include "base/math.h"

namespace smartmig {
namespace {

std::shared_ptr<JobTable> empty_table(const Cluster& truth) {
  const Workload& workload = truth.jobs().workload();
  auto table = JobTable::growing(truth.platform(), workload.reference_gpu, workload.jobs.size());
  SMARTMIG_CHECK(bool(table), "a workload that is bound has a reference model");
  return std::make_shared<JobTable>(std::move(*table));
}

}  // namespace

BelievedFleet::BelievedFleet(const EstimateRule& rule, Cluster truth, Journal* journal)
    : TwoWorlds(std::move(truth), journal), rule_(rule), table_(empty_table(this->truth())) {
  if (rule_.source != EstimateRule::Source::kNone) factors_ = told_factors(rule_, this->truth().jobs().workload());
}

Cluster BelievedFleet::belief(std::shared_ptr<const Platform> platform) const {
  std::vector<Layout> layouts;
  for (const GpuState& gpu : truth().gpus()) layouts.push_back(gpu.layout);
  return Cluster(std::move(platform), table_, truth().cost(), std::move(layouts), truth().now());
}

std::vector<std::string> BelievedFleet::groups_of(const Job& job) const {
  return {"", truth().jobs().workload().kind_of(job)};
}

std::optional<double> BelievedFleet::told(JobId job) const {
  if (factors_.empty()) return {};
  return log_time(truth().jobs().job(job)) + deterministic_log(factors_[index(job)]);
}

BelievedTime BelievedFleet::believed_of(JobId id) const {
  const auto groups = groups_of(truth().jobs().job(id));
  const auto said = told(id);
  if (estimator_.knows_enough(groups, said.has_value())) return estimator_.believe(groups, said);
  std::vector<TimeEstimator::Running> running;
  for (const JobId other : running_) {
    const JobState& state = truth().state(other);
    const Job& job = truth().jobs().job(other);
    const double share =
        double((truth().now() - state.since).count()) / double(truth().jobs().work(other, state.type).count());
    if (share > 0) running.push_back({groups_of(job), told(other), log_time(job) + deterministic_log(share)});
  }
  return estimator_.believe(groups, said, TimeEstimator::kUntold, running);
}

void BelievedFleet::put(JobId id) {
  const Workload& workload = truth().jobs().workload();
  Job job = workload.jobs[index(id)];
  double factor = factors_.empty() ? 1 : factors_[index(id)];
  if (rule_.learned) {
    const BelievedTime belief = believed_of(id);
    if (beliefs_.size() <= index(id)) beliefs_.resize(workload.jobs.size());
    beliefs_[index(id)] = belief;
    factor = deterministic_exp(belief.log_median - log_time(job));
    job.spread = belief.spread;
  }
  for (Time& time : job.work)
    if (time > Time{0}) time = std::max(Time(1), rounded(double(time.count()) * factor));
  const auto put = table_->put(id, job, workload.name_of(index(id)), workload.kind_of(job), truth().platform());
  SMARTMIG_CHECK(bool(put), "a job that runs by its true times runs by others: {}", put ? "" : put.error().what);
}

void BelievedFleet::happened(const Event& event) {
  if (event.kind == EventKind::kStarted) running_.insert(event.job);
  if (event.kind == EventKind::kStopped || event.kind == EventKind::kFinished) running_.erase(event.job);
  if (event.kind == EventKind::kSubmitted) put(event.job);
  if (!rule_.learned) return;
  if (event.kind == EventKind::kFinished) {
    const Job& job = truth().jobs().job(event.job);
    estimator_.learn(groups_of(job), told(event.job), log_time(job));
  }
  if (event.kind == EventKind::kFinished || event.kind == EventKind::kSubmitted) look_again();
}

// Jobs that were stopped keep their rows: they have run by them.
void BelievedFleet::look_again() {
  constexpr double kOther = 0.2;  // of the median's logarithm, or the spread's
  anew_.clear();
  std::size_t looked = 0;
  for (JobId id = truth().first_unfinished(); id != kNoJob && looked < kWaiting; id = truth().next_unfinished(id)) {
    const JobState& state = truth().state(id);
    if (state.phase != JobPhase::kQueued || state.type != kNoType) continue;
    ++looked;
    const BelievedTime& had = beliefs_[index(id)];
    const BelievedTime now = believed_of(id);
    if (std::abs(now.log_median - had.log_median) > kOther || std::abs(now.spread / had.spread - 1) > kOther)
      anew_.push_back(id);
  }
}

bool BelievedFleet::rebelieved(const Cluster& cluster, Event& event) {
  while (!anew_.empty()) {
    const JobId id = anew_.back();
    if (cluster.state(id).phase != JobPhase::kQueued && !back_) {
      anew_.pop_back();  // it begins at this instant
      continue;
    }
    event = back_ ? Event::submitted(cluster.now(), id) : Event::withdrawn(cluster.now(), id);
    if (back_) put(id), anew_.pop_back();
    back_ = !back_;
    return true;
  }
  return false;
}

}  // namespace smartmig
