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

void BelievedFleet::put(JobId id) {
  const Workload& workload = truth().jobs().workload();
  Job job = workload.jobs[index(id)];
  double factor = factors_.empty() ? 1 : factors_[index(id)];
  if (rule_.learned) {
    const BelievedTime belief = estimator_.believe(groups_of(job), told(id));
    factor = deterministic_exp(belief.log_median - log_time(job));
    job.spread = belief.spread;
  }
  for (Time& time : job.work)
    if (time > Time{0}) time = std::max(Time(1), rounded(double(time.count()) * factor));
  const auto put = table_->put(id, job, workload.name_of(index(id)), workload.kind_of(job), truth().platform());
  SMARTMIG_CHECK(bool(put), "a job that runs by its true times runs by others: {}", put ? "" : put.error().what);
}

void BelievedFleet::happened(const Event& event) {
  if (event.kind == EventKind::kSubmitted) return put(event.job);
  if (event.kind != EventKind::kFinished || !rule_.learned) return;
  const Job& job = truth().jobs().job(event.job);
  estimator_.learn(groups_of(job), told(event.job), log_time(job));
}

}  // namespace smartmig
