// The planner's side of the jobs: gains, classes of nearly equal jobs, and who of a class gets what.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "policy/placing/job_outlook.h"
#include "policy/planner/market_planner.h"

namespace smartmig {
namespace {

constexpr int kValueLevels = 8, kPaceLevels = 8;  // per doubling of the value; of the pace between 0 and 1

// Steps of 1 / kValueLevels of a doubling, by the bits of the number: equal on every machine.
std::uint64_t level_of(double value) {
  if (value <= 1e-6) return 0;
  return std::bit_cast<std::uint64_t>(value) >> (52 - 3);
}
static_assert(kValueLevels == 8);

}  // namespace

std::size_t MarketPlanner::item_of(const Cluster& cluster, JobId job, const JobValue& value) {
  const Job& description = cluster.jobs().job(job);
  std::uint64_t shape = std::uint64_t(description.kind + 1);
  if (description.kind < 0)  // no kind: jobs with nearly the same curve
    for (const double gain : row_) shape = shape * 31 + level_of(gain < 0 ? 0 : gain);
  std::uint64_t able = 0;
  for (std::size_t t = 0; t < row_.size(); ++t) able |= std::uint64_t(row_[t] > SlotMarket::kImpossible) << t;
  const std::uint64_t pace = std::uint64_t(value.pace() * kPaceLevels);
  const std::uint64_t key = ((shape * 0x9E3779B97F4A7C15ull ^ able) * 31 + level_of(value.value())) * 31 + pace;
  const auto [at, fresh] = class_of_.try_emplace(key, std::uint32_t(counts_.size()));
  if (fresh) {
    counts_.push_back(0);
    class_sums_.resize(class_sums_.size() + row_.size(), 0);
  }
  return at->second;
}

void MarketPlanner::gather(const Cluster& cluster, bool queued_only, double w) {
  const Platform& platform = cluster.platform();
  const JobTable& table = cluster.jobs();
  const std::size_t types = type_of_market_.size();

  jobs_.clear();
  double late = 0;
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    if (!queued_only || cluster.state(job).phase == JobPhase::kQueued) jobs_.push_back(job);
  }
  // Least remaining times come first: how many are late is part of every value.
  times_.resize(jobs_.size() * job_times_row(types));
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobTimes times = job_times_at(times_, j, types);
    read_job_times(cluster, jobs_[j], type_of_market_, times);
    if (times.least == HUGE_VAL && !doubles_) {  // it needs a double-memory slice: plan with those from now on
      doubles_ = true;
      see_new_cluster(cluster);
      return gather(cluster, queued_only, w);
    }
    late += times.late();
  }

  const JobValue fresh(options_.weights, late / double(platform.total_compute_slices()));
  market_.reset(int(types));
  item_.resize(jobs_.size());
  const bool exact = jobs_.size() <= options_.exact_jobs;
  counts_.clear();
  class_sums_.clear();
  class_of_.clear();
  row_.resize(types);
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const JobTimes times = job_times_at(times_, j, types);
    JobValue value = fresh;
    value.look(outlook_of(cluster, jobs_[j], type_of_market_, times, w));
    for (std::size_t t = 0; t < types; ++t) {
      row_[t] = SlotMarket::kImpossible;
      if (times.on[t] == HUGE_VAL) continue;
      row_[t] = value.gain(times.least / times.on[t]) - w * table.added_watts(jobs_[j], type_of_market_[t]);
    }
    if (exact) {
      item_[j] = std::uint32_t(market_.add_item(row_, 1));
      continue;
    }
    const std::size_t item = item_of(cluster, jobs_[j], value);
    item_[j] = std::uint32_t(item);
    ++counts_[item];
    for (std::size_t t = 0; t < types; ++t) class_sums_[item * types + t] += row_[t];
  }
  if (exact) return;
  for (std::size_t c = 0; c < counts_.size(); ++c) {
    for (std::size_t t = 0; t < types; ++t) {
      const double mean = class_sums_[c * types + t] / double(counts_[c]);
      row_[t] = mean < SlotMarket::kImpossible / 2 ? SlotMarket::kImpossible : mean;
    }
    market_.add_item(row_, counts_[c]);
  }
}

}  // namespace smartmig
