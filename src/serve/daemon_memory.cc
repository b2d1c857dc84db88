// GPU memory of what runs: seen, projected, acted upon. A job whose memory will not fit its slice is restarted early on
// a larger one when that costs less than failing later (model/memory_projection.h); one that has failed restarts on a
// larger one; memory that a dead process holds takes its slice out of service by name until it is gone.
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "model/speed.h"
#include "serve/daemon.h"
#include "sim/kind_curve.h"

namespace smartmig {
namespace {

constexpr double kUnknownRestart = 30;
constexpr int kDeadTwice = 2;                                // samples in a row: an exit is not always seen at once
constexpr std::uint64_t kPhantoms = std::uint64_t(1) << 62;  // record numbers that stand for no job

bool exists(std::uint32_t pid) { return ::kill(pid_t(pid), 0) == 0 || errno != ESRCH; }

}  // namespace

// The memory of each job's slice on this board, from its last sample.
void Daemon::see_memory(int gpu) {
  const GpuFacts& facts = gpus_[std::size_t(gpu)];
  for (const auto& [slice, id] : occupied_) {
    if (int(slice.first) != gpu) continue;
    JobRecord* job = find(id);
    const Instance* instance = find_instance(facts.board, PlacementId(slice.second));
    if (!job || !instance || job->status != JobStatus::kRunning || job->started > facts.sampled) continue;
    int used = 0;
    for (const DeviceProcess& process : facts.processes)
      if (process.gpu_instance == instance->gpu_instance) used += process.memory_mib;
    if (used > job->peak_mib) {
      job->peak_mib = used;
      changed(*job);
    }
    project(*job, used);
  }
}

void Daemon::project(JobRecord& job, int used_mib) {
  const int limit = slice_memory_mib(job.gpu, job.slice), largest = belief_->largest_memory_mib();
  MemoryProjection& projection = projections_[job.id];
  const double elapsed = seconds(gpus_[std::size_t(job.gpu)].sampled - job.started);
  projection.add(elapsed, used_mib);
  if (limit <= 0 || limit >= largest || used_mib <= 0 || job.wish != JobRecord::kNothing) return;
  // Who declared a size and may not be stopped is left alone: it ends as it ends.
  if (job.spec.mem_mib && !job.spec.preemptible()) return;
  // A kind whose memory is on record and fits is believed until it takes more.
  if (const auto known = SpeedTable::builtin().mem_mib(job.spec.kind); known && *known <= limit && used_mib <= *known)
    return;
  const auto finish = expected_finish(job);
  const double total = finish ? seconds(*finish - job.started) : 0;
  const Time known = restart_of(job.spec.kind);
  RestartCosts costs;
  costs.restart_s = known >= Time{0} ? seconds(known) : kUnknownRestart;
  costs.lost_if_restarted = job.spec.checkpoint_signal ? 0 : elapsed;
  costs.lost_if_failed = elapsed;
  const RestartVerdict verdict = projection.verdict(limit, total, costs);
  if (!verdict.restart) return;
  const int needs = std::clamp(int(verdict.needs_mib), limit + 1, largest);
  job.reason = fmt::format(
      "early restart: {} MiB of {} MiB after {:.0f} s, about {:.0f} MiB projected ({:.0f} % sure to "
      "pass the slice's memory in about {:.0f} s)",
      used_mib, limit, elapsed, verdict.needs_mib, 100 * verdict.passing.probability, verdict.passing.after_s);
  journal_->note(belief_->inside(now()), "early_restart",
                 fmt::format("\"job\":{},\"slice\":\"{}\",\"words\":{}", job.id, job.slice, Json(job.reason).dump()));
  job.mem_mib = needs;
  ++job.oom_restarts;
  ++counts_.early_restarts;
  stop_job(job, JobRecord::kLarger);
}

// What a job should have after it ran out with `had`: at least one size up, and what its growth pointed to.
int Daemon::memory_after_failure(const JobRecord& job, int had) const {
  double wants = had + 1;
  if (const auto at = projections_.find(job.id); at != projections_.end())
    wants = std::max(wants, at->second.forecast(0).quantile(0.5));
  return std::clamp(int(wants), had + 1, std::max(had + 1, belief_->largest_memory_mib()));
}

// A slice on which only dead processes hold memory is of no use to anyone: in the belief it is busy with a phantom, so
// that no policy counts on it, and the operator is told its name. It returns when the memory is free.
void Daemon::watch_dead(int gpu) {
  GpuFacts& facts = gpus_[std::size_t(gpu)];
  std::map<int, std::pair<int, std::uint32_t>> held;  // by GPU instance: MiB, a pid
  std::set<int> alive;
  facts.dead_mib = 0;
  for (const DeviceProcess& process : facts.processes) {
    if (exists(process.pid)) {
      alive.insert(process.gpu_instance);
    } else if (process.memory_mib > 0) {
      held[process.gpu_instance].first += process.memory_mib;
      held[process.gpu_instance].second = process.pid;
      facts.dead_mib += process.memory_mib;
    }
  }
  for (const Instance& instance : facts.board.instances) {
    const SliceKey key{std::uint32_t(gpu), index(instance.placement)};
    const auto dead = held.find(instance.gpu_instance);
    const auto phantom = phantoms_.find(key);
    if (dead == held.end() || alive.count(instance.gpu_instance)) {
      dead_seen_.erase(key);
      if (phantom != phantoms_.end()) {
        if (const JobId row = belief_->row(phantom->second); row != kNoJob) {
          fleet_->tell({belief_->inside(now()), EventKind::kWithdrawn, kNoPlacement, row, kNoGpu, {}});
          belief_->drop(phantom->second);
        }
        phantoms_.erase(phantom);
        journal_->note(belief_->inside(now()), "slice_free",
                       fmt::format("\"gpu\":{},\"device\":\"{}\"", gpu, instance.uuid));
      }
      continue;
    }
    if (phantom != phantoms_.end() || occupied_.count(key) || ++dead_seen_[key] < kDeadTwice) continue;
    const GpuState& state = cluster().gpu(GpuId(std::uint32_t(gpu)));
    if (!state.layout.contains(instance.placement) || state.busy.contains(instance.placement)) continue;
    JobRecord nobody;
    nobody.id = kPhantoms + ++last_phantom_;
    nobody.spec.command = {fmt::format("dead process {}", dead->second.second)};
    nobody.estimate = std::chrono::hours(24 * 365);
    nobody.submitted = now();
    const auto row = belief_->put(nobody, kNever);
    if (!row) continue;
    session_->found_running(*row, GpuId(std::uint32_t(gpu)), instance.placement, nobody.estimate,
                            belief_->inside(now()));
    phantoms_[key] = nobody.id;
    journal_->note(
        belief_->inside(now()), "slice_quarantined",
        fmt::format("\"gpu\":{},\"slice\":\"{}\",\"words\":{}", gpu, slice_name(*facts.board.model, instance.placement),
                    Json(fmt::format("process {} is dead and holds {} MiB there; the slice is out of service "
                                     "until that is free (a reset of the GPU frees it)",
                                     dead->second.second, dead->second.first))
                        .dump()));
  }
}

}  // namespace smartmig
