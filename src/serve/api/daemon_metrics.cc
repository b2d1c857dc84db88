#include "serve/api/daemon_metrics.h"

#include "mig/fragmentation.h"
#include "queue/answers/fleet_json.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

MetricsInput::Board board_metrics(const BoardState& state, int gpu, const GpuModel& model, const EnergyTotals& energy,
                                  const Fragmentation& fragmentation) {
  MetricsInput::Board board;
  board.gpu = gpu;
  board.uuid = state.board.uuid;
  board.model = model.name();
  board.state = service_name(state);
  board.watts = state.watts;
  board.joules = {
      {"counter", energy.by_source_j[0]}, {"power-integral", energy.by_source_j[1]}, {"model", energy.by_source_j[2]}};
  board.unattributed_joules = energy.unattributed_j;
  board.fragmentation = fragmentation.score;
  board.largest_free_slices = fragmentation.largest_free;
  board.dead_process_bytes = double(state.dead_mib) * (1 << 20);
  return board;
}

MetricsInput::Slice slice_metrics(const Daemon& daemon, GpuId gpu, PlacementId where) {
  const BoardState& board = daemon.state().boards.at(int(index(gpu)));
  const GpuModel& model = *daemon.state().session.platform().model(gpu).gpu;
  const Instance* instance = find_instance(board.board, where);
  const JobId row = daemon.cluster().gpu(gpu).job_at[index(where)];
  MetricsInput::Slice slice;
  slice.gpu = int(index(gpu));
  slice.gpu_instance = instance ? instance->gpu_instance : -1;
  slice.start = model.placement(where).start;
  slice.uuid = board.board.uuid;
  slice.profile = model.profile_of(where).name;
  slice.device = instance ? instance->uuid : "";
  if (row != kNoJob && !board.quarantined.count(index(where))) {
    slice.job = number(daemon.state().session.belief().record(row));
    slice.watts = modelled_watts(daemon.cluster(), gpu, where);
  }
  return slice;
}

void add_gpus(const Daemon& daemon, MetricsInput& out) {
  const DaemonState& state = daemon.state();
  const Platform& platform = state.session.platform();
  std::vector<FragmentationTable> fragmentation_of;  // by model
  for (const Platform::Model& model : platform.models()) fragmentation_of.emplace_back(*model.gpu);
  for (std::size_t g = 0; g < state.boards.size(); ++g) {
    const GpuState& gpu = daemon.cluster().gpus()[g];
    out.boards.push_back(board_metrics(state.boards.at(int(g)), int(g), *platform.model(GpuId(g)).gpu,
                                       state.boards.energy(int(g)),
                                       fragmentation_of[std::size_t(platform.model_index(GpuId(g)))].of(gpu.busy)));
    if (state.boards.at(int(g)).in_service() && !daemon.failing_words(GpuId(g)).empty())
      out.boards.back().state = "failing";
    for (const PlacementId p : gpu.layout) out.slices.push_back(slice_metrics(daemon, GpuId(g), p));
  }
}

void add_jobs(const Daemon& daemon, MetricsInput& out) {
  const Counts& counts = daemon.counts();
  for (int s = 0; s < kJobStatuses; ++s) out.jobs_by_state[name_of(JobStatus(s))] = counts.ended[std::size_t(s)];
  for (const auto& [id, job] : daemon.live_jobs()) {
    ++out.jobs_by_state[name_of(job.status)];
    if (is_waiting(job.status)) {
      ++out.queue_length;
      continue;
    }
    const auto expected = daemon.state().session.expected_finish(id);
    out.jobs.push_back({number(id), job.owner.name, job.energy.joules, seconds(lateness(job, daemon.now(), expected))});
  }
  for (int s = int(JobStatus::kDone); s < kJobStatuses; ++s) out.ended.jobs += counts.ended[std::size_t(s)];
}

}  // namespace

MetricsInput metrics_of(const Daemon& daemon, const std::string& version) {
  const Counts& counts = daemon.counts();
  const Figures& figures = daemon.state().figures;
  MetricsInput out;
  out.program.version = version;
  out.program.policy = daemon.policies().name();
  out.program.driver = daemon.world().driver.name();
  add_gpus(daemon, out);
  add_jobs(daemon, out);
  out.ended.joules = counts.ended_joules;
  out.ended.tardiness_s = counts.ended_tardiness_s;
  out.reconfigurations = figures.reconfigurations();
  out.reconfiguration_s = figures.reconfiguration_s();
  out.decisions = {{"carried_out", counts.decisions}, {"refused", counts.refused}};
  out.decision_s = figures.decision_s();
  for (const auto& [source, errors] : daemon.state().estimates.errors())
    out.time_errors.emplace(name_of(source), errors);
  for (int kind = 0; kind < ForecastScores::kKinds; ++kind) {
    const ForecastScores::Figures of = daemon.state().estimates.calibration().figures(ForecastScores::Kind(kind));
    if (of.count > 0) out.forecasts[ForecastScores::name_of(ForecastScores::Kind(kind))] = {of.held, of.score_s};
  }
  out.policy_fallbacks = counts.fallbacks;
  out.oom_restarts = counts.oom_restarts;
  out.preemptions = counts.preemptions;
  out.refused_starts = counts.refused_starts;
  out.program.store_bytes = daemon.world().store.bytes();
  out.program.uptime_s = seconds(daemon.now() - figures.started());
  out.program.paused = daemon.decisions().paused();
  return out;
}

}  // namespace smartmig
