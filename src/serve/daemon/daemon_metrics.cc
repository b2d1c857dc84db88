// The daemon's figures for Prometheus, gathered on the owner thread.
#include <algorithm>

#include "mig/fragmentation.h"
#include "serve/daemon/daemon.h"
#include "serve/daemon/job_json.h"

namespace smartmig {

MetricsInput Daemon::metrics(const std::string& version) const {
  MetricsInput out;
  out.version = version;
  out.policy = policies_->name();
  out.driver = world_.driver.name();
  std::vector<FragmentationTable> fragmentation_of;  // by model
  for (const Platform::Model& model : platform_->models()) fragmentation_of.emplace_back(*model.gpu);
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const GpuFacts& facts = gpus_[g];
    const GpuState& state = cluster().gpus()[g];
    const GpuModel& model = *platform_->model(GpuId(g)).gpu;
    const Fragmentation fragmentation = fragmentation_of[std::size_t(platform_->model_index(GpuId(g)))].of(state.busy);
    const EnergyTotals totals = board_energy(g);
    MetricsInput::Board board;
    board.gpu = int(g);
    board.uuid = facts.board.uuid;
    board.model = model.name();
    board.state = !facts.trouble.empty() ? "quarantined" : facts.by_operator ? "drained" : "ok";
    board.watts = facts.watts;
    board.joules = {{"counter", totals.by_source_j[0]},
                    {"power-integral", totals.by_source_j[1]},
                    {"model", totals.by_source_j[2]}};
    board.unattributed_joules = totals.unattributed_j;
    board.fragmentation = fragmentation.score;
    board.largest_free_slices = fragmentation.largest_free;
    board.dead_process_bytes = double(facts.dead_mib) * (1 << 20);
    out.boards.push_back(std::move(board));
    for (const PlacementId p : state.layout) {
      const Instance* instance = find_instance(facts.board, p);
      const JobId row = state.job_at[index(p)];
      MetricsInput::Slice slice;
      slice.gpu = int(g);
      slice.gpu_instance = instance ? instance->gpu_instance : -1;
      slice.start = model.placement(p).start;
      slice.uuid = facts.board.uuid;
      slice.profile = model.profile_of(p).name;
      slice.device = instance ? instance->uuid : "";
      if (row != kNoJob && !facts.quarantined.count(index(p))) {
        slice.job = belief_->record(row);
        slice.watts = watts_of(GpuId(g), p);
      }
      out.slices.push_back(std::move(slice));
    }
  }
  for (int s = 0; s < kJobStatuses; ++s) out.jobs_by_state[name_of(JobStatus(s))] = counts_.ended[std::size_t(s)];
  for (const auto& [id, job] : jobs_) {
    ++out.jobs_by_state[name_of(job.status)];
    if (job.status == JobStatus::kHeld || job.status == JobStatus::kQueued) {
      ++out.queue_length;
      continue;
    }
    out.jobs.push_back({id, job.user, job.joules, seconds(lateness(job, now(), expected_finish(job)))});
  }
  for (int s = int(JobStatus::kDone); s < kJobStatuses; ++s) out.ended_jobs += counts_.ended[std::size_t(s)];
  out.ended_joules = counts_.ended_joules;
  out.ended_tardiness_s = counts_.ended_tardiness_s;
  out.reconfigurations = counts_.reconfigurations;
  out.reconfiguration_s = counts_.reconfiguration_s;
  out.decisions = {{"carried_out", counts_.decisions}, {"refused", counts_.refused}};
  out.decision_s = counts_.decision_s;
  out.policy_fallbacks = counts_.fallbacks;
  out.oom_restarts = counts_.oom_restarts;
  out.preemptions = counts_.preemptions;
  out.store_bytes = world_.store.bytes();
  out.uptime_s = seconds(now() - started_at_);
  out.paused = paused_;
  return out;
}

EnergyTotals Daemon::board_energy(std::size_t gpu) const {
  const auto at = meter_.boards().find(gpus_[gpu].board.uuid);
  return at == meter_.boards().end() ? EnergyTotals() : at->second.totals();
}

// What the power model gives to the job on that slice.
double Daemon::watts_of(GpuId gpu, PlacementId where) const {
  const GpuState& state = cluster().gpu(gpu);
  const JobId row = state.job_at[index(where)];
  if (row == kNoJob) return 0;
  const Platform::Model& model = platform_->model(gpu);
  const double added = cluster().jobs().added_watts(row, model.type_of_placement[index(where)]);
  return model.energy_weight(where, added) * state.active_per_weight;
}

}  // namespace smartmig
