#include "cluster/shown_json.h"

#include <numeric>

#include "mig/fragmentation.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

JobShown shown(const ClusterController& controller, const JobRecord& job) {
  JobShown how;
  how.now = controller.now();
  how.with_command = false;
  if (!is_final(job.status)) how.expected = controller.session().expected_finish(job.id);
  how.cost = cost_of(job, controller.options().settings.priced(), how.now, how.expected);
  return how;
}

JobRecord as_on_page(const JobRecord& job) {
  JobRecord out = job;
  out.id = page_id(job.id);
  return out;
}

const char* state_of(const ClusterController::Gpu& gpu) {
  return gpu.trouble ? "quarantined" : gpu.blocked ? "drained" : "ok";
}

Json job_at(const ClusterController& controller, GpuId gpu, PlacementId where) {
  const JobId row = controller.session().cluster().gpu(gpu).job_at[index(where)];
  return row == kNoJob ? Json() : Json(number(page_id(controller.session().belief().record(row))));
}

}  // namespace

Json shown_short(const ClusterController& controller, const JobRecord& job) {
  return short_json(as_on_page(job), shown(controller, job));
}

Json shown_whole(const ClusterController& controller, const JobRecord& job) {
  return to_json(as_on_page(job), shown(controller, job));
}

Json gpu_json(const ClusterController& controller, GpuId gpu) {
  const Cluster& cluster = controller.session().cluster();
  const ClusterController::Gpu& board = controller.gpus()[index(gpu)];
  Json out = believed_gpu_json(cluster, gpu);
  Json slices = Json::array();
  for (const PlacementId where : cluster.gpu(gpu).layout) {
    Json slice = believed_slice_json(cluster, gpu, where);
    slice["device"] = "";
    slice["gpu_instance"] = Json();
    slice["job"] = job_at(controller, gpu, where);
    slice["state"] = "ok";
    slice["words"] = "";
    slice["memory_mib"] = cluster.platform().model(gpu).gpu->profile_of(where).memory_mib;
    slice["used_mib"] = Json();  // agents do not tell
    slices.push_back(std::move(slice));
  }
  out["slices"] = std::move(slices);
  out["node"] = board.node;
  out["index_on_node"] = board.index;
  out["uuid"] = board.uuid;
  out["product"] = fmt::format("{} GPU {}", board.node, board.index);
  out["watts_w"] = board.watts ? Json(*board.watts) : Json();
  out["energy_j"] = board.energy ? Json(board.energy->booked_j()) : Json();
  out["state"] = state_of(board);
  out["words"] = board.trouble   ? board.words
                 : board.late    ? "an operation is taking too long"
                 : board.blocked ? "its node accepts no jobs, or its agent does not answer"
                                 : "";
  out["reserved"] = Json();
  return out;
}

Json status_json(ClusterController& controller, const ClusterPast& past) {
  const Settings& settings = controller.options().settings;
  EnergyTotals all;
  std::optional<double> watts;
  Json quarantined = Json::array();
  for (const ClusterController::Gpu& gpu : controller.gpus()) {
    if (gpu.watts) watts = watts.value_or(0) + *gpu.watts;
    if (gpu.trouble) quarantined.push_back(fmt::format("{} GPU {}: {}", gpu.node, gpu.index, gpu.words));
    if (!gpu.energy) continue;
    for (int s = 0; s < kEnergySources; ++s) all.by_source_j[s] += gpu.energy->by_source_j[s];
    all.jobs_j += gpu.energy->jobs_j;
    all.idle_j += gpu.energy->idle_j;
    all.unattributed_j += gpu.energy->unattributed_j;
  }
  const Counts& counts = past.figures.counts;
  Json queue = Json::object();
  for (int s = 0; s < kJobStatuses; ++s) queue[name_of(JobStatus(s))] = counts.ended[std::size_t(s)];
  for (const JobRecord* job : controller.shown_jobs())
    queue[name_of(job->status)] = queue[name_of(job->status)].get<std::uint64_t>() + 1;
  const PolicyStack& stack = controller.policies().stack();
  return {{"policy", controller.policies().name()},
          {"shadow", Json()},
          {"driver", controller.words().id},
          {"emulated", false},
          {"isolated", true},
          {"isolation", controller.words().isolation},
          {"isolates", Json::array()},
          {"paused", false},
          {"queue", std::move(queue)},
          {"quarantined", std::move(quarantined)},
          {"watts_w", watts ? Json(*watts) : Json()},
          {"energy",
           {{"counter_j", all.by_source_j[0]},
            {"power_integral_j", all.by_source_j[1]},
            {"model_j", all.by_source_j[2]},
            {"attributed_j", all.jobs_j},
            {"idle_j", all.idle_j},
            {"unattributed_j", all.unattributed_j}}},
          {"decisions",
           {{"count", counts.decisions},
            {"p50_ms", 1e3 * past.figures.decision_quantile_s(0.5)},
            {"p99_ms", 1e3 * past.figures.decision_quantile_s(0.99)},
            {"refused", 0},
            {"fallbacks", controller.policies().fallbacks()}}},
          {"rough_watts", rough_watts(controller.session().platform())},
          {"power_cap_w", settings.power.fleet_cap_w > 0 ? Json(settings.power.fleet_cap_w) : Json()},
          {"board_cap_w", settings.power.board_cap_w > 0 ? Json(settings.power.board_cap_w) : Json()},
          {"prices", prices_json(settings)},
          {"et", objective_json(std::accumulate(counts.ended.begin(), counts.ended.end(), std::uint64_t{0}),
                                past.boards_j, counts.ended_tardiness_s, weight_of(settings))},
          {"overtaken_max", stack.most_overtaken()},
          {"visible", controller.session().belief().visible()},
          {"journal_position", controller.session().journal().position()},
          {"shortage", ""},
          {"disk", "ok"},
          {"clock", "real"},
          {"now_at", unix_seconds(controller.now())}};
}

MetricsInput metrics_of(ClusterController& controller, const ClusterPast& past) {
  const Cluster& cluster = controller.session().cluster();
  const Platform& platform = cluster.platform();
  MetricsInput out;
  out.program.policy = controller.policies().name();
  out.program.driver = controller.words().id;
  std::vector<FragmentationTable> fragmentation_of;  // by model
  for (const Platform::Model& model : platform.models()) fragmentation_of.emplace_back(*model.gpu);
  for (std::size_t g = 0; g < controller.gpus().size(); ++g) {
    const GpuId id{std::uint32_t(g)};
    const ClusterController::Gpu& gpu = controller.gpus()[g];
    const Fragmentation free = fragmentation_of[std::size_t(platform.model_index(id))].of(cluster.gpu(id).busy);
    const EnergyTotals energy = gpu.energy.value_or(EnergyTotals{});
    MetricsInput::Board board;
    board.gpu = int(g);
    board.uuid = gpu.uuid;
    board.model = platform.model(id).gpu->name();
    board.state = state_of(gpu);
    board.watts = gpu.watts.value_or(0);
    board.joules = {{"counter", energy.by_source_j[0]},
                    {"power-integral", energy.by_source_j[1]},
                    {"model", energy.by_source_j[2]}};
    board.unattributed_joules = energy.unattributed_j;
    board.fragmentation = free.score;
    board.largest_free_slices = free.largest_free;
    out.boards.push_back(std::move(board));
    for (const PlacementId where : cluster.gpu(id).layout) {
      MetricsInput::Slice slice;
      slice.gpu = int(g);
      slice.gpu_instance = -1;  // agents do not tell
      slice.start = platform.model(id).gpu->placement(where).start;
      slice.uuid = gpu.uuid;
      slice.profile = platform.model(id).gpu->profile_of(where).name;
      if (const Json job = job_at(controller, id, where); !job.is_null()) slice.job = job.get<std::uint64_t>();
      slice.watts = modelled_watts(cluster, id, where);
      out.slices.push_back(std::move(slice));
    }
  }
  const Counts& counts = past.figures.counts;
  for (int s = 0; s < kJobStatuses; ++s) {
    out.jobs_by_state[name_of(JobStatus(s))] = counts.ended[std::size_t(s)];
    out.ended.jobs += counts.ended[std::size_t(s)];
  }
  for (const JobRecord* job : controller.shown_jobs()) {
    ++out.jobs_by_state[name_of(job->status)];
    if (is_waiting(job->status)) {
      ++out.queue_length;
      continue;
    }
    const auto expected = controller.session().expected_finish(job->id);
    out.jobs.push_back({number(page_id(job->id)), job->owner.name, job->energy.joules,
                        seconds(lateness(*job, controller.now(), expected))});
  }
  out.ended.joules = counts.ended_joules;
  out.ended.tardiness_s = counts.ended_tardiness_s;
  out.reconfigurations = past.figures.reconfigurations();
  out.reconfiguration_s = past.figures.reconfiguration_s();
  out.decisions = {{"carried_out", counts.decisions}};
  out.decision_s = past.figures.decision_s();
  out.policy_fallbacks = controller.policies().fallbacks();
  out.oom_restarts = counts.oom_restarts;
  out.preemptions = counts.preemptions;
  return out;
}

Result<Why> why_of(ClusterController& controller, QueueId id) {
  const JobRecord* job = controller.shown_job(id);
  if (!job) return not_found("it is neither waiting nor running");
  const std::string name = fmt::format("job {}", label(*job));
  if (!is_waiting(job->status))
    return Why{"running",
               fmt::format("{} is {} on {} of {} GPU {}", name, name_of(job->status), to_string(job->place.slice),
                           controller.gpus()[std::size_t(job->place.gpu)].node,
                           controller.gpus()[std::size_t(job->place.gpu)].index),
               {},
               {}};
  if (job->status == JobStatus::kHeld)
    return Why{fmt::format("held_by_{}", controller.words().id),
               fmt::format("{} waits: {}", name, job->reason),
               {controller.words().more},
               {}};
  WhyInput in;
  in.cluster = &controller.session().cluster();
  in.job = controller.session().belief().row(id);
  in.name = name;
  in.mem_mib = job->memory.mib;
  in.min_slices = job->spec.min_slices;
  in.overtaking = controller.policies().stack().overtaking();
  in.policy = controller.policies().name();
  in.origin = controller.session().belief().origin();
  if (in.job != kNoJob) in.planned = controller.policies().stack().policy->planned_starts(*in.cluster);
  return why_waiting(in);
}

LiveFork fork_of(ClusterController& controller) {
  const LiveSession& session = controller.session();
  const Belief& belief = session.belief();
  LiveFork live;
  live.origin = belief.origin();
  live.prices = controller.options().settings.priced();
  live.fork = fork(session.cluster(), [&](JobId row) {
    ForkFacts facts;
    if (const JobRecord* job = controller.shown_job(belief.record(row))) {
      if (job->spec.deadline) facts.declared = belief.inside(*job->spec.deadline);
      facts.user = job->owner.uid;
    }
    return facts;
  });
  for (const ForkJob& job : live.fork.jobs) live.ids.push_back(page_id(belief.record(job.live)));
  live.fork.decided = !session.fleet().has_news();
  live.fork.look_again = session.asked_at();
  return live;
}

}  // namespace smartmig
