// What the API shows of the GPUs and of the daemon itself.
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "queue/answers/fleet_json.h"
#include "queue/jobs/job_json.h"
#include "serve/api/daemon_metrics.h"
#include "serve/api/daemon_service.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

Json slice_json(const Daemon& daemon, GpuId gpu, PlacementId where) {
  const BoardState& board = daemon.state().boards.at(int(index(gpu)));
  const GpuState& state = daemon.cluster().gpu(gpu);
  const Instance* instance = find_instance(board.board, where);
  const JobId row = state.job_at[index(where)];
  const auto dead = board.quarantined.find(index(where));
  const bool in_service = dead == board.quarantined.end();
  int used = 0;
  for (const DeviceProcess& process : board.processes)
    if (instance && process.gpu_instance == instance->gpu_instance) used += process.memory_mib;
  Json out = believed_slice_json(daemon.cluster(), gpu, where);
  out["device"] = instance ? instance->uuid : "";
  out["gpu_instance"] = instance ? Json(instance->gpu_instance) : Json();
  out["job"] = row == kNoJob || !in_service ? Json() : Json(number(daemon.state().session.belief().record(row)));
  out["state"] = in_service ? "ok" : "quarantined";
  out["words"] = in_service ? "" : dead->second;
  out["memory_mib"] = instance ? instance->memory_mib : 0;
  out["used_mib"] = used;
  return out;
}

Json reserved_json(const Daemon& daemon, GpuId gpu) {
  const auto& all = daemon.state().reservations.all();  // by begin
  const auto at = std::find_if(all.begin(), all.end(), [&](const GpuReservation& r) {
    return std::find(r.gpus.begin(), r.gpus.end(), int(index(gpu))) != r.gpus.end();
  });
  if (at == all.end()) return Json();
  return {{"name", at->name},
          {"begin_at", unix_seconds(at->begin)},
          {"end_at", unix_seconds(at->end)},
          {"users", at->users},
          {"active", at->on(daemon.now())}};
}

Json gpu_json(const Daemon& daemon, GpuId gpu) {
  const BoardState& board = daemon.state().boards.at(int(index(gpu)));
  Json slices = Json::array();
  for (const PlacementId p : daemon.cluster().gpu(gpu).layout) slices.push_back(slice_json(daemon, gpu, p));
  Json out = believed_gpu_json(daemon.cluster(), gpu);
  out["uuid"] = board.board.uuid;
  out["product"] = board.board.product;
  out["watts_w"] = board.watts;
  out["energy_j"] = daemon.state().boards.energy(int(index(gpu))).booked_j();
  const std::string failing = daemon.failing_words(gpu);
  out["state"] = board.in_service() && !failing.empty() ? "failing" : service_name(board);
  out["words"] = board.words.empty() ? failing : board.words;
  out["slices"] = std::move(slices);
  out["reserved"] = reserved_json(daemon, gpu);
  return out;
}

Json counts_by_state(const Daemon& daemon) {
  Json queue;
  for (int s = 0; s < kJobStatuses; ++s) queue[name_of(JobStatus(s))] = daemon.counts().ended[std::size_t(s)];
  std::map<std::string, int> live;
  for (const auto& entry : daemon.live_jobs()) ++live[name_of(entry.second.status)];
  for (const auto& [name, count] : live) queue[name] = count;
  return queue;
}

Json quarantined_slices(const Daemon& daemon) {
  Json out = Json::array();
  const Boards& boards = daemon.state().boards;
  for (std::size_t g = 0; g < boards.size(); ++g)
    for (const auto& [where, words] : boards.at(int(g)).quarantined)
      out.push_back(fmt::format("{} of GPU {}: {}",
                                slice_name(*daemon.state().session.platform().model(GpuId(g)).gpu, PlacementId(where)),
                                g, words));
  return out;
}

// What keeps jobs apart on this machine, and by what.
Json isolates_json(const Daemon& daemon, const DaemonService::Facts& facts) {
  Json out = Json::array();
  const auto add = [&](const std::string& what, const std::string& by) { out.push_back({{"what", what}, {"by", by}}); };
  add("GPU memory, cores and faults", daemon.world().emulated            ? "nothing: the GPUs are emulated"
                                      : daemon.world().driver.isolated() ? "MIG"
                                                                         : "nothing: soft slices by MPS");
  for (const auto& [what, by] : facts.isolates) add(what, by);
  add("files and processes of users",
      ::geteuid() == 0 ? "user ids; jobs get no new privileges" : "nothing: all jobs run as the daemon's user");
  return out;
}

// The objective since the daemon's start, over the jobs that ended; null before one has.
Json et_json(const Daemon& daemon) {
  const Counts& counts = daemon.counts();
  const std::uint64_t jobs = std::accumulate(counts.ended.begin(), counts.ended.end(), std::uint64_t{0});
  return objective_json(jobs, daemon.state().boards.meter().totals().booked_j(), counts.ended_tardiness_s,
                        weight_of(daemon.state().settings));
}

}  // namespace

Result<Json> DaemonService::gpus(const Caller&) {
  return ask<Json>([](Daemon& d) -> Result<Json> {
    Json list = Json::array();
    for (std::size_t g = 0; g < d.state().boards.size(); ++g) list.push_back(gpu_json(d, GpuId(g)));
    return Json{{"gpus", std::move(list)}};
  });
}

Result<Json> DaemonService::power(const Caller&, std::uint64_t since) {
  return ask<Json>([since](Daemon& d) -> Result<Json> {
    return power_json(d.state().figures.power, d.state().settings, d.now(), since);
  });
}

Result<Json> DaemonService::status(const Caller&) {
  return ask<Json>([this](Daemon& d) -> Result<Json> {
    const DaemonState& state = d.state();
    const Settings& s = state.settings;
    const EnergyTotals all = state.boards.meter().totals();
    double watts = 0;
    for (const BoardState& board : state.boards.all()) watts += board.watts;
    Json out;
    out["version"] = facts_.version;
    out["policy"] = d.policies().name();
    out["shadow"] = s.policy.shadow.empty() ? Json() : d.decisions().shadow_json();
    out["driver"] = d.world().driver.name();
    out["emulated"] = d.world().emulated;
    out["isolated"] = d.world().driver.isolated();
    out["isolation"] = facts_.isolation;
    out["isolates"] = isolates_json(d, facts_);
    out["paused"] = d.decisions().paused();
    out["uptime_s"] = seconds(d.now() - state.figures.started());
    out["queue"] = counts_by_state(d);
    out["quarantined"] = quarantined_slices(d);
    out["watts_w"] = watts;
    out["energy"] = {{"counter_j", all.by_source_j[0]},
                     {"power_integral_j", all.by_source_j[1]},
                     {"model_j", all.by_source_j[2]},
                     {"attributed_j", all.jobs_j},
                     {"idle_j", all.idle_j},
                     {"unattributed_j", all.unattributed_j}};
    out["decisions"] = {{"count", d.counts().decisions},
                        {"p50_ms", 1e3 * state.figures.decision_quantile_s(0.5)},
                        {"p99_ms", 1e3 * state.figures.decision_quantile_s(0.99)},
                        {"refused", d.counts().refused},
                        {"fallbacks", d.counts().fallbacks}};
    out["rough_watts"] = rough_watts(state.session.platform());
    out["power_cap_w"] = s.power.fleet_cap_w > 0 ? Json(s.power.fleet_cap_w) : Json();
    out["board_cap_w"] = s.power.board_cap_w > 0 ? Json(s.power.board_cap_w) : Json();
    out["prices"] = prices_json(s);
    out["et"] = et_json(d);
    out["overtaken_max"] = d.policies().stack().most_overtaken();
    out["visible"] = state.session.belief().visible();
    out["journal_position"] = state.session.journal().position();
    out["shortage"] = d.shortage().empty() ? d.world().runner.trouble() : d.shortage();
    out["disk"] = state.book.disk_trouble().empty() ? "ok" : state.book.disk_trouble();
    out["clock"] = d.world().clock.is_virtual() ? "virtual" : "real";
    out["now_at"] = unix_seconds(d.now());
    return out;
  });
}

}  // namespace smartmig
