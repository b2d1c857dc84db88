#include "policy/planner/job_rest.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr double kTails = 0.85;

// The rest of a run of which nothing is known may exceed any instant.
Time bounded(double microseconds) { return rounded(std::min(microseconds, kMaxSeconds * 1e6)); }

}  // namespace

JobRest::JobRest(const Cluster& cluster, JobId job) {
  const double spread = cluster.jobs().job(job).spread;
  if (spread <= 0) return;
  const TypeId type = cluster.state(job).type;
  if (type != kNoType && cluster.jobs().work(job, type) <= Time{0}) return;
  known_ = false;
  left_ = left_of_run(kTails * spread, share_done(cluster, job));
}

double share_done(const Cluster& cluster, JobId job) {
  const JobState& state = cluster.state(job);
  if (state.type == kNoType) return 0;
  const Time whole = cluster.jobs().work(job, state.type);
  if (whole <= Time{0}) return 0;
  double done = double((whole - state.remaining).count());
  if (state.phase == JobPhase::kRunning)
    done += double(std::max(Time{0}, cluster.now() - state.since).count()) / cluster.crowding(job);
  return std::max(0.0, done / double(whole.count()));
}

Time JobRest::on(const Cluster& cluster, JobId job, TypeId type) const {
  if (known_) return cluster.remaining_on(job, type);
  const Time whole = cluster.jobs().work(job, type);
  return whole < Time{0} ? whole : bounded(double(whole.count()) * left_.mean);
}

std::array<JobRest::Case, 3> JobRest::cases() const {
  if (known_) return {{{1, 1}, {0, 1}, {0, 1}}};
  static_assert(kRunQuantiles == 7);
  const auto& v = left_.of_mean;
  return {{{3.0 / 7, (v[0] + v[1] + v[2]) / 3}, {3.0 / 7, (v[3] + v[4] + v[5]) / 3}, {1.0 / 7, v[6]}}};
}

double JobRest::minutes_late(Time due, Time finish, Time run) const {
  const double mean = minutes(finish - due);
  if (known_) return std::max(0.0, mean);
  const double length = minutes(run), start = mean - length;
  if (start + length * left_.of_mean.back() <= 0) return 0;
  if (start + length * left_.of_mean.front() >= 0) return mean;
  double sum = 0;
  for (const double value : left_.of_mean) sum += std::max(0.0, start + length * value);
  return sum / kRunQuantiles;
}

namespace {

Time finish(const Cluster& cluster, JobId job, bool late) {
  const JobState& state = cluster.state(job);
  const JobRest rest(cluster, job);
  if (rest.known()) return state.finish;
  const double left = double(rest.on(cluster, job, state.type).count()) * (late ? rest.longest() : 1);
  return std::max(cluster.now(), state.since) + bounded(left * cluster.crowding(job));
}

}  // namespace

Time expected_finish(const Cluster& cluster, JobId job) { return finish(cluster, job, false); }
Time late_finish(const Cluster& cluster, JobId job) { return finish(cluster, job, true); }

}  // namespace smartmig
