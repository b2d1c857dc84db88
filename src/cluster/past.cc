#include "cluster/past.h"

#include <algorithm>

#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr std::chrono::seconds kClosed{2};  // longer than a stream sleeps

}  // namespace

void ClusterPast::write(const std::vector<EventRow>& rows) {
  const std::lock_guard lock(mutex_);
  lines_.insert(lines_.end(), rows.begin(), rows.end());
  while (lines_.size() > kMostLines) lines_.pop_front();
}

Service::Lines ClusterPast::lines(std::uint64_t after, int limit) const {
  Service::Lines out;
  const std::lock_guard lock(mutex_);
  if (std::chrono::steady_clock::now() < closed_until_) {
    out.closing = true;
    return out;
  }
  const auto first =
      std::upper_bound(lines_.begin(), lines_.end(), after,
                       [](std::uint64_t position, const EventRow& row) { return position < row.sequence; });
  for (auto at = first; at != lines_.end() && int(out.lines.size()) < limit; ++at)
    out.lines.emplace_back(at->sequence, at->line);
  return out;
}

std::uint64_t ClusterPast::position() const {
  const std::lock_guard lock(mutex_);
  return lines_.empty() ? 0 : lines_.back().sequence;
}

void ClusterPast::cut() {
  forgotten_ = ++version_;
  const std::lock_guard lock(mutex_);
  if (!lines_.empty()) closed_until_ = std::chrono::steady_clock::now() + kClosed;
}

void ClusterPast::ended(JobRecord job) {
  ++figures.counts.ended[std::size_t(JobStatus(job.status))];
  figures.counts.ended_tardiness_s += seconds(lateness(job, job.times.ended, {}));
  ended_.push_back({std::move(job), next_version()});
  if (ended_.size() <= kMostEnded) return;
  forgotten_ = ended_.front().version;
  ended_.pop_front();
}

void ClusterPast::add_joules(QueueId job, double joules) {
  figures.counts.ended_joules += joules;
  const auto at = std::find_if(ended_.begin(), ended_.end(), [&](const Ended& one) { return one.job.id == job; });
  if (at == ended_.end()) return;
  Ended one = std::move(*at);
  ended_.erase(at);
  one.job.energy.joules += joules;
  one.version = next_version();
  ended_.push_back(std::move(one));
}

}  // namespace smartmig
