#include "research/explain/queue_state.h"

#include <algorithm>

namespace smartmig {
namespace {
constexpr double kUrgentMin = 0.5;  // minutes of slack
}

const std::array<QueueFeatureName, kQueueFeatures>& queue_feature_names() {
  static constexpr std::array<QueueFeatureName, kQueueFeatures> names = {{
      {"hour of day", "hour", "h"},
      {"unfinished jobs per GPU", "unfinished_per_gpu", ""},
      {"urgent jobs per GPU", "urgent_per_gpu", ""},
      {"late jobs per GPU", "late_per_gpu", ""},
      {"backlog per GPU", "backlog_min_per_gpu", "min"},
      {"mean work of a job", "mean_work_min", "min"},
      {"sublinearity of the queue", "sublinearity", ""},
      {"arrivals per GPU and hour", "arrivals_per_gpu_hour", ""},
  }};
  return names;
}

QueueProbe::QueueProbe(const Platform& platform) {
  const Platform::Model& model = platform.models()[0];
  const auto profiles = model.gpu->profiles();
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    if (profiles[p].variant != Variant::kPlain) continue;
    sizes_.emplace_back(profiles[p].compute_slices, TypeId(std::uint8_t(std::size_t(model.first_type) + p)));
  }
  std::sort(sizes_.begin(), sizes_.end());
  whole_ = sizes_.back().second;
}

double QueueProbe::sublinearity() const {
  double products = 0, squares = 0;
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    products += sizes_[s].first * throughput_[s];
    squares += sizes_[s].first * sizes_[s].first;
  }
  const double of_one_slice = throughput_[0] / sizes_[0].first;
  return of_one_slice > 0 ? products / squares / of_one_slice : 1;
}

QueueState QueueProbe::look(const Cluster& cluster) {
  const JobTable& jobs = cluster.jobs();
  const Time now = cluster.now();
  const double gpus = double(cluster.gpus().size());
  QueueState out{};
  double work = 0;
  int counted = 0;
  throughput_.assign(sizes_.size(), 0);
  for (JobId id = cluster.first_unfinished(); id != kNoJob; id = cluster.next_unfinished(id)) {
    const Time left = cluster.remaining_on(id, whole_);
    const double minutes_left = left < Time{0} ? 0 : minutes(left);
    const Time deadline = jobs.job(id).deadline;
    work += minutes_left;
    ++counted;
    if (deadline != kNever && deadline < now)
      ++out[kLate];
    else if (deadline != kNever && minutes(deadline - now) - minutes_left < kUrgentMin)
      ++out[kUrgent];
    const auto row = jobs.work_row(id);
    const auto runs_on = [&](const auto& size) { return row[index(size.second)] > Time{0}; };
    if (!std::all_of(sizes_.begin(), sizes_.end(), runs_on)) continue;
    for (std::size_t s = 0; s < sizes_.size(); ++s) throughput_[s] += 1 / minutes(row[index(sizes_[s].second)]);
  }
  out[kHour] = double(now.count() % 86'400'000'000) / 3'600e6;
  out[kUnfinished] = double(cluster.unfinished()) / gpus;
  out[kLate] /= gpus;
  out[kUrgent] /= gpus;
  out[kBacklog] = work / gpus;
  out[kMeanWork] = counted > 0 ? work / counted : 0;
  out[kSublinearity] = sublinearity();
  const auto& all = jobs.workload().jobs;
  // Rows of jobs that have not arrived are at the end, even in a table that grows and is compacted.
  const auto& states = cluster.states();
  const auto arrived =
      all.begin() + (std::partition_point(states.begin(), states.end(),
                                          [](const JobState& s) { return s.phase != JobPhase::kAbsent; }) -
                     states.begin());
  const auto first = std::partition_point(all.begin(), arrived,
                                          [&](const Job& job) { return job.submit < now - std::chrono::minutes(30); });
  out[kArrivals] = 2 * double(arrived - first) / gpus;
  return out;
}

}  // namespace smartmig
