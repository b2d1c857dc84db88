#include "policy/placing/queue_placer.h"

#include <algorithm>

namespace smartmig {
namespace {

bool later(const Turn& a, const Turn& b) { return b < a; }  // heaps have the next job first

std::uint64_t stops_so_far(const Cluster& cluster) { return cluster.counters().preemptions + cluster.counters().moves; }

}  // namespace

std::uint32_t QueuePlacer::find_line(const Cluster& cluster, JobId job) {
  const std::span<const Time> work = cluster.jobs().work_row(job);
  std::uint64_t runs_on = 0;
  for (std::size_t t = 0; t < work.size(); ++t) runs_on |= std::uint64_t(work[t] >= Time{0}) << t;
  const int group = rule_->group(cluster, job);
  for (std::uint32_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].runs_on == runs_on && lines_[i].group == group) return i;
  lines_.push_back({runs_on, group, {}, false});
  return std::uint32_t(lines_.size() - 1);
}

void QueuePlacer::push(const Cluster& cluster, JobId job) {
  std::vector<Turn>& heap = line_of(job).heap;
  heap.push_back(rule_->turn_of(cluster, job));
  std::push_heap(heap.begin(), heap.end(), later);
  ++waiting_;
}

bool QueuePlacer::follow(const Cluster& cluster) {
  if (identity_ != cluster.identity() || expected_decision_ != cluster.decision()) return false;
  if (expected_stops_ != stops_so_far(cluster)) return false;
  for (const JobId job : begun_)
    if (cluster.state(job).phase == JobPhase::kQueued) push(cluster, job);
  for (const JobId job : stopped_)
    if (cluster.state(job).phase == JobPhase::kQueued) push(cluster, job);
  for (const Event& event : cluster.news())
    if (event.kind == EventKind::kSubmitted) {
      line_of_[index(event.job)] = find_line(cluster, event.job);
      push(cluster, event.job);
    }
  return waiting_ == cluster.unfinished() - cluster.running();
}

void QueuePlacer::read_anew(const Cluster& cluster) {
  lines_.clear();
  line_of_.assign(cluster.jobs().size(), 0);
  waiting_ = 0;
  assigned_.clear();
  for (JobId job = cluster.first_unfinished(); job != kNoJob; job = cluster.next_unfinished(job)) {
    line_of_[index(job)] = find_line(cluster, job);
    if (cluster.state(job).phase == JobPhase::kQueued) push(cluster, job);
  }
}

// By their turns. The jobs placed at the last decision are nearly in order.
void QueuePlacer::list_running(const Cluster& cluster) {
  running_.clear();
  for (const auto& [job, slot] : assigned_)
    if (cluster.state(job).phase == JobPhase::kRunning) running_.push_back(rule_->turn_of(cluster, job));
  if (running_.size() != cluster.running()) {
    running_.clear();
    for (const GpuState& gpu : cluster.gpus())
      for (const PlacementId p : gpu.busy) running_.push_back(rule_->turn_of(cluster, gpu.job_at[index(p)]));
    std::sort(running_.begin(), running_.end());
  }
  for (std::size_t i = 1; i < running_.size(); ++i) {
    const Turn turn = running_[i];
    std::size_t at = i;
    for (; at > 0 && turn < running_[at - 1]; --at) running_[at] = running_[at - 1];
    running_[at] = turn;
  }
}

void QueuePlacer::serve(const Cluster& cluster) {
  for (Line& line : lines_) line.full = false;
  assigned_.clear();
  for (std::size_t next = 0; board_.free_slots() > 0;) {
    while (next < running_.size() && line_of(running_[next].job).full) ++next;
    const Turn* first = next < running_.size() ? &running_[next] : nullptr;
    Line* from = nullptr;
    for (Line& line : lines_)
      if (!line.full && !line.heap.empty() && (!first || line.heap.front() < *first)) {
        first = &line.heap.front();
        from = &line;
      }
    if (!first) return;
    const JobId job = first->job;
    const Slot slot = rule_->choose(cluster, board_, job);
    if (slot.none()) {
      line_of(job).full = true;
      continue;
    }
    board_.take(job, slot);
    assigned_.emplace_back(job, slot);
    if (!from) {
      ++next;
      continue;
    }
    std::pop_heap(from->heap.begin(), from->heap.end(), later);
    from->heap.pop_back();
    --waiting_;
    begun_.push_back(job);
  }
}

void QueuePlacer::place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) {
  const bool preemptive = cluster.cost().free(), followed = follow(cluster);
  if (!followed) read_anew(cluster);
  if (preemptive) list_running(cluster);
  if (preemptive || !followed || version_ != usable.version) {
    board_.reset(cluster, usable, preemptive);
  } else {
    for (const auto& [job, slot] : assigned_) board_.reread(cluster, slot.gpu);
    for (const Event& event : cluster.news())
      if (event.kind == EventKind::kFinished) board_.reread(cluster, cluster.state(event.job).gpu);
  }
  begun_.clear();
  serve(cluster);

  if (preemptive) {
    running_jobs_.clear();
    for (const Turn& turn : running_) running_jobs_.push_back(turn.job);
    diff_.write(cluster, board_, rule_->slices_interchangeable(), assigned_, running_jobs_, plan);
  } else {
    for (const auto& [job, slot] : assigned_) plan.starts.push_back({job, slot.gpu, slot.where});
  }
  stopped_ = plan.stops;
  identity_ = cluster.identity();
  expected_decision_ = cluster.decision() + 1;
  expected_stops_ = stops_so_far(cluster) + plan.stops.size();
  version_ = usable.version;
}

}  // namespace smartmig
