#include "report/timeline.h"

#include "report/fold.h"

namespace smartmig {
namespace {

constexpr std::size_t kNoRun = ~std::size_t(0);

char step_type(EventKind kind) {
  switch (kind) {
    case EventKind::kStarted:
    case EventKind::kFoundRunning:
      return 's';
    case EventKind::kFinished:
    case EventKind::kStopped:
    case EventKind::kWithdrawn:
      return 'e';
    case EventKind::kSubmitted:
    case EventKind::kReshapeAsked:
    case EventKind::kDestroyed:
    case EventKind::kCreated:
    case EventKind::kOverrun:
    case EventKind::kBlocked:
    case EventKind::kUnblocked:
    case EventKind::kFoundWaiting:
      return 'p';
  }
  return 'p';
}

// The GPU whose watts the event may change. The end of a job names no GPU: it is the one where the job runs, if it
// runs.
GpuId touched_by(const Event& event, const Cluster& before) {
  if (event.job == kNoJob || event.gpu != kNoGpu) return event.gpu;
  const JobState& job = before.state(event.job);
  return job.phase == JobPhase::kRunning ? job.gpu : kNoGpu;
}

}  // namespace

Timeline timeline_of(const RunRecord& run) {
  SMARTMIG_CHECK(run.events, "a run without its journal has no timeline");
  Timeline line;
  Cluster cluster(run.platform, run.jobs, run.cost, run.initial);
  FleetStep now;
  for (std::size_t g = 0; g < cluster.gpus().size(); ++g) {
    line.gpus.push_back({Time{0}, GpuId(g), cluster.gpus()[g].watts});
    now.watts += cluster.gpus()[g].watts;
    line.idle_watts += run.platform->model(GpuId(g)).power.idle();
  }
  line.fleet.push_back(now);
  std::vector<std::size_t> open(run.jobs->size(), kNoRun);  // the current run of each job
  const auto end_run = [&](const Event& event, JobRun::End how) {
    std::size_t& at = open[index(event.job)];
    if (at == kNoRun) return;  // withdrawn while waiting
    line.runs[at].end = event.at;
    line.runs[at].how = how;
    at = kNoRun;
  };
  for (const Event& event : *run.events) {
    const GpuId touched = touched_by(event, cluster);
    const double watts_before = touched == kNoGpu ? 0 : cluster.gpu(touched).watts;
    const bool busy_before = touched != kNoGpu && !cluster.gpu(touched).busy.empty();
    now.joules += joules(now.watts, event.at - now.at);
    now.at = event.at;
    fold(cluster, event);
    switch (event.kind) {
      case EventKind::kStarted:
      case EventKind::kFoundRunning:
        open[index(event.job)] = line.runs.size();
        line.runs.push_back({event.job, event.gpu, event.where, event.at, event.at, JobRun::kOpen});
        break;
      case EventKind::kFinished:
        end_run(event, JobRun::kFinished);
        break;
      case EventKind::kStopped:
        end_run(event, JobRun::kStopped);
        break;
      case EventKind::kWithdrawn:
        end_run(event, JobRun::kWithdrawn);
        break;
      case EventKind::kReshapeAsked:
      case EventKind::kDestroyed:
      case EventKind::kCreated:
        line.layouts.push_back({event.at, event.kind, event.gpu, event.layout, cluster.gpu(event.gpu).layout});
        break;
      case EventKind::kSubmitted:
      case EventKind::kOverrun:
      case EventKind::kBlocked:
      case EventKind::kUnblocked:
      case EventKind::kFoundWaiting:
        break;
    }
    if (touched != kNoGpu && cluster.gpu(touched).watts != watts_before) {
      now.watts += cluster.gpu(touched).watts - watts_before;
      line.gpus.push_back({event.at, touched, cluster.gpu(touched).watts});
    }
    if (touched != kNoGpu)
      now.busy_gpus += std::uint32_t(!cluster.gpu(touched).busy.empty()) - std::uint32_t(busy_before);
    if (cluster.running() == 0) now.watts = line.idle_watts;  // no residue of rounding
    now.running = std::uint32_t(cluster.running());
    now.queued = std::uint32_t(cluster.unfinished() - cluster.running());
    now.type = step_type(event.kind);
    if (line.fleet.back().at == now.at)
      line.fleet.back() = now;
    else
      line.fleet.push_back(now);
  }
  line.end = cluster.now();
  for (JobRun& still : line.runs)
    if (still.how == JobRun::kOpen) still.end = line.end;
  return line;
}

std::vector<std::uint32_t> first_units(const Platform& platform) {
  std::vector<std::uint32_t> first;
  std::uint32_t next = 0;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    first.push_back(next);
    next += std::uint32_t(platform.model(GpuId(g)).gpu->memory_slices());
  }
  return first;
}

}  // namespace smartmig
