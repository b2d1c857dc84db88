#include "serve/attempts/idle_watch.h"

#include <algorithm>
#include <set>

#include "base/json.h"

namespace smartmig {
namespace {

constexpr Time kShortestLookPause{500'000}, kLongestLookPause{30'000'000};

bool is_watched(const JobRecord& job) {
  return job.spec.idle.value_or(Time{0}) > Time{0} && job.status == JobStatus::kRunning && !job.suspended &&
         job.stop_reason == StopReason::kNone;
}

}  // namespace

std::optional<double> IdleWatch::idle_share(std::deque<Look>& looks, Time idle) {
  if (looks.empty()) return std::nullopt;
  const Time begin = looks.back().at - idle;
  while (looks.size() > 1 && looks[1].at <= begin) looks.pop_front();
  if (looks.front().at > begin) return std::nullopt;
  const double share = std::max(0.0, seconds(looks.back().cpu - looks.front().cpu)) /
                       std::max(1e-6, seconds(looks.back().at - looks.front().at));
  const bool on_gpu = std::any_of(looks.begin(), looks.end(), [](const Look& look) { return look.on_gpu; });
  return on_gpu && share >= kBusyShare ? std::nullopt : std::optional(share);
}

void IdleWatch::look_when_due() {
  if (session_.now() < next_) return;
  const std::vector<JobRecord*> jobs = watched();
  Time pause = kLongestLookPause;
  for (const JobRecord* job : jobs) pause = std::min(pause, *job->spec.idle / kLooks);
  std::erase_if(looks_, [&](const auto& one) {
    return std::none_of(jobs.begin(), jobs.end(), [&](const JobRecord* job) { return attempt_of(*job) == one.first; });
  });
  // Without such a job the next one is seen soon enough: its time is longer than a pause.
  next_ = session_.now() + (jobs.empty() ? Time{1'000'000} : std::max(kShortestLookPause, pause));
  if (!jobs.empty()) look(jobs);
}

UnixTime IdleWatch::next_due() const { return watched().empty() ? kNeverUnix : next_; }

std::vector<JobRecord*> IdleWatch::watched() const {
  std::vector<JobRecord*> out;
  for (const auto& [slice, id] : table_.slices())
    if (JobRecord* job = book_.find(id); job && is_watched(*job)) out.push_back(job);
  return out;
}

std::map<QueueId, bool> IdleWatch::on_gpus(const std::vector<JobRecord*>& jobs) const {
  std::map<QueueId, bool> out;
  std::map<int, std::set<AttemptId>> seen;  // by GPU
  for (const JobRecord* job : jobs) {
    const int gpu = job->place.gpu;
    if (!boards_.known(gpu)) continue;
    const BoardState& board = boards_.at(gpu);
    if (board.unlisted || board.listed == kNotYet) {
      out[job->id] = true;
      continue;
    }
    if (seen.count(gpu) == 0)
      for (const DeviceProcess& process : board.processes)
        if (const auto attempt = runner_.attempt_of_process(int(process.pid))) seen[gpu].insert(*attempt);
    out[job->id] = seen[gpu].count(attempt_of(*job)) > 0;
  }
  return out;
}

void IdleWatch::look(const std::vector<JobRecord*>& jobs) {
  std::vector<AttemptId> attempts;
  for (const JobRecord* job : jobs) attempts.push_back(attempt_of(*job));
  const auto cpu = runner_.cpu_times(attempts);
  auto on_gpu = on_gpus(jobs);
  for (JobRecord* job : jobs) {
    const auto used = cpu.find(attempt_of(*job));
    if (used == cpu.end()) continue;  // it has ended just now
    auto& looks = looks_[attempt_of(*job)];
    looks.push_back({clock_.steady(), used->second, on_gpu[job->id]});
    const auto share = idle_share(looks, *job->spec.idle);
    if (!share) continue;
    job->reason = fmt::format("it did not use its GPU for {:.0f} s (--idle): {:.1f} % of a core",
                              seconds(*job->spec.idle), 100 * *share);
    session_.note("idle", fmt::format("\"job\":{},\"words\":{}", job->id, json_text(job->reason)));
    attempts_.stop(*job, StopReason::kCancel);
  }
}

}  // namespace smartmig
