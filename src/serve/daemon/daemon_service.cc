#include "serve/daemon/daemon_service.h"

#include <algorithm>

#include "serve/daemon/job_json.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

Error not_yours(std::uint64_t id) {
  return no_permission("job {} belongs to another user; its owner and root may do that", id);
}
Result<Ok> operator_only(const Caller& caller, const char* what) {
  if (caller.operator_rights) return Ok{};
  return no_permission("{} is for the operator: root, or the user who runs the daemon", what);
}
bool may_touch(const Caller& caller, const JobRecord& job) { return caller.operator_rights || caller.uid == job.uid; }

const char* energy_source(const Daemon& daemon, const JobRecord& job) {
  return job.gpu < 0 || std::size_t(job.gpu) >= daemon.gpus().size()
             ? "model"
             : name_of(daemon.gpus()[std::size_t(job.gpu)].source);
}

Json shown(const Daemon& daemon, const JobRecord& job, bool with_spec) {
  JobShown how;
  how.now = daemon.now();
  how.expected = daemon.expected_finish(job);
  how.energy_source = energy_source(daemon, job);
  how.cost = daemon.cost_of(job);
  how.with_spec = with_spec;
  return to_json(job, how);
}

}  // namespace

Result<JobRecord> DaemonService::record(std::uint64_t id) {
  SMARTMIG_TRY(auto live, ask<std::optional<JobRecord>>([id](Daemon& d) -> Result<std::optional<JobRecord>> {
                 const auto at = d.live_jobs().find(id);
                 if (at == d.live_jobs().end()) return std::optional<JobRecord>();
                 return std::optional<JobRecord>(at->second);
               }));
  if (live) return std::move(*live);
  SMARTMIG_TRY(const auto row, store_.job(id));
  if (!row) return not_found("there is no job {}", id);
  return from_row(*row);
}

Result<Json> DaemonService::submit(const Caller& caller, const Json& body) {
  if (facts_.only_uid && caller.uid != *facts_.only_uid)
    return no_permission("this daemon belongs to {} and can run that user's jobs only; root's runs everybody's",
                         user_name(*facts_.only_uid));
  std::vector<JobSpec> specs;
  const Time now = daemon_.now();
  const auto add = [&](const Json& one) -> Result<Ok> {
    SMARTMIG_TRY(JobSpec spec, parse_job_spec(one.dump(-1, ' ', false, Json::error_handler_t::replace), now));
    specs.push_back(std::move(spec));
    return Ok{};
  };
  if (body.is_object() && body.contains("jobs")) {
    if (!body["jobs"].is_array() || body["jobs"].empty() || body.size() != 1)
      return invalid("the body is a job, or {{\"jobs\": [job, ...]}} with one job at least");
    for (const Json& one : body["jobs"]) SMARTMIG_RETURN_IF_ERROR(add(one));
  } else {
    SMARTMIG_RETURN_IF_ERROR(add(body));
  }
  return ask<Json>(
      [&](Daemon& d) -> Result<Json> {
        std::vector<std::string> warnings;
        SMARTMIG_TRY(const auto ids, d.submit(caller, std::move(specs), warnings));
        Json jobs = Json::array();
        for (const std::uint64_t id : ids)
          if (const auto at = d.live_jobs().find(id); at != d.live_jobs().end())
            jobs.push_back(shown(d, at->second, false));
        return Json{{"ids", ids}, {"jobs", std::move(jobs)}, {"warnings", warnings}};
      },
      true);
}

Result<Json> DaemonService::jobs(const Caller&, const JobQuery& query) {
  const std::size_t limit = std::size_t(std::max(1, query.limit));
  const bool live = query.state != "final" && query.state != "done" && query.state != "failed" &&
                    query.state != "cancelled" && query.state != "timed_out";
  if (live) {
    SMARTMIG_TRY(Json found, ask<Json>([&](Daemon& d) -> Result<Json> {
                   Json out = Json::array();
                   for (auto at = d.live_jobs().upper_bound(query.after); at != d.live_jobs().end(); ++at) {
                     const JobRecord& job = at->second;
                     if (query.uid && *query.uid != job.uid) continue;
                     if (!query.state.empty() && query.state != "active" && query.state != name_of(job.status))
                       continue;
                     if (out.size() > limit) break;
                     out.push_back(shown(d, job, false));
                   }
                   return out;
                 }));
    const bool more = found.size() > limit;
    if (more) found.erase(found.size() - 1);
    if (!query.state.empty() || more) return Json{{"jobs", std::move(found)}, {"more", more}};
    if (query.after == 0 && found.size() < limit) {  // without a state: the live ones, then the newest of the others
      StoreFind find;
      find.uid = query.uid;
      find.final = true;
      find.newest_first = true;
      find.limit = int(limit - found.size());
      SMARTMIG_TRY(const auto rows, store_.find(find));
      for (const JobRow& row : rows) {
        SMARTMIG_TRY(const JobRecord job, from_row(row));
        SMARTMIG_TRY(Json one, ask<Json>([&](Daemon& d) -> Result<Json> { return shown(d, job, false); }));
        found.push_back(std::move(one));
      }
    }
    return Json{{"jobs", std::move(found)}, {"more", false}};
  }
  StoreFind find;
  find.uid = query.uid;
  find.final = true;
  find.newest_first = true;
  find.after = query.after;
  find.limit = int(limit) + 1;
  for (int s = 0; s < kJobStatuses; ++s)
    if (query.state == name_of(JobStatus(s))) find.status = s;
  SMARTMIG_TRY(const auto rows, store_.find(find));
  std::vector<JobRecord> records;
  for (const JobRow& row : rows) {
    SMARTMIG_TRY(JobRecord job, from_row(row));
    if (records.size() < limit) records.push_back(std::move(job));
  }
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    Json out = Json::array();
    for (const JobRecord& job : records) out.push_back(shown(d, job, false));
    return Json{{"jobs", std::move(out)}, {"more", rows.size() > limit}};
  });
}

Result<Json> DaemonService::job(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    const auto at = d.live_jobs().find(id);
    return shown(d, at == d.live_jobs().end() ? found : at->second, may_touch(caller, found));  // scripts hold secrets
  });
}

Result<Json> DaemonService::cancel(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (!may_touch(caller, found)) return not_yours(id);
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  SMARTMIG_TRY(Ok done, ask<Ok>(
                            [&](Daemon& d) {
                              return d.cancel(
                                  id, caller.uid == found.uid ? "cancelled by its owner" : "cancelled by the operator");
                            },
                            true));
  (void)done;
  return job(caller, id);
}

Result<Json> DaemonService::requeue(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (!may_touch(caller, found)) return not_yours(id);
  SMARTMIG_TRY(Ok done, ask<Ok>([&](Daemon& d) { return d.requeue(id, caller.operator_rights); }, true));
  (void)done;
  return job(caller, id);
}

Result<Json> DaemonService::gpus(const Caller&) {
  return ask<Json>([](Daemon& d) -> Result<Json> {
    Json list = Json::array();
    for (std::size_t g = 0; g < d.gpus().size(); ++g) {
      const Daemon::GpuFacts& facts = d.gpus()[g];
      const GpuModel& model = *d.platform().model(GpuId(g)).gpu;
      const GpuState& state = d.cluster().gpus()[g];
      Json slices = Json::array();
      for (const PlacementId p : state.layout) {
        const Instance* instance = find_instance(facts.board, p);
        const Profile& profile = model.profile_of(p);
        const JobId row = state.job_at[index(p)];
        const auto dead = facts.quarantined.find(index(p));
        const bool in_service = dead == facts.quarantined.end();
        int used = 0;
        for (const DeviceProcess& process : facts.processes)
          if (instance && process.gpu_instance == instance->gpu_instance) used += process.memory_mib;
        slices.push_back({{"name", slice_name(model, p)},
                          {"profile", profile.name},
                          {"start", model.placement(p).start},
                          {"compute_slices", profile.compute_slices},
                          {"memory_slices", profile.memory_slices},
                          {"device", instance ? instance->uuid : ""},
                          {"gpu_instance", instance ? Json(instance->gpu_instance) : Json()},
                          {"job", row == kNoJob || !in_service ? Json() : Json(d.belief().record(row))},
                          {"state", in_service ? "ok" : "quarantined"},
                          {"words", in_service ? "" : dead->second},
                          {"memory_mib", instance ? instance->memory_mib : 0},
                          {"used_mib", used},
                          {"going", !state.target.contains(p)},
                          {"watts_w", d.watts_of(GpuId(g), p)}});
      }
      const char* name = !facts.trouble.empty()
                             ? (facts.trouble.find("lost") != std::string::npos ? "lost" : "quarantined")
                         : facts.by_operator ? "drained"
                                             : "ok";
      list.push_back({{"index", g},
                      {"uuid", facts.board.uuid},
                      {"product", facts.board.product},
                      {"model", model.name()},
                      {"watts_w", facts.watts},
                      {"energy_j", d.board_energy(g).booked_j()},
                      {"state", name},
                      {"words", facts.trouble},
                      {"layout", to_string(model, state.layout)},
                      {"target", to_string(model, state.target)},
                      {"slices", std::move(slices)},
                      {"compute_slices", model.compute_slices()},
                      {"memory_slices", model.memory_slices()}});
    }
    return Json{{"gpus", std::move(list)}};
  });
}

Result<Json> DaemonService::status(const Caller&) {
  return ask<Json>([this](Daemon& d) -> Result<Json> {
    Json queue;
    for (int s = 0; s < kJobStatuses; ++s) queue[name_of(JobStatus(s))] = d.counts().ended[std::size_t(s)];
    std::map<std::string, int> live;
    for (const auto& entry : d.live_jobs()) ++live[name_of(entry.second.status)];
    for (const auto& [name, count] : live) queue[name] = count;
    double watts = 0;
    Json quarantined = Json::array();
    for (std::size_t g = 0; g < d.gpus().size(); ++g) {
      watts += d.gpus()[g].watts;
      for (const auto& [where, words] : d.gpus()[g].quarantined)
        quarantined.push_back(fmt::format("{} of GPU {}: {}",
                                          slice_name(*d.platform().model(GpuId(g)).gpu, PlacementId(where)), g, words));
    }
    const EnergyTotals all = d.meter().totals();
    std::vector<double> times = d.decision_times();
    std::sort(times.begin(), times.end());
    const auto quantile = [&](double q) {
      return times.empty() ? 0.0 : 1e3 * times[std::min(times.size() - 1, std::size_t(q * double(times.size())))];
    };
    const Settings& s = d.settings();
    Json out;
    out["version"] = facts_.version;
    out["policy"] = d.policies().name();
    out["shadow"] = s.policy.shadow.empty() ? Json() : d.shadow_json();
    out["driver"] = d.world().driver.name();
    out["emulated"] = d.world().emulated;
    out["isolated"] = d.world().driver.isolated();
    out["isolation"] = facts_.isolation;
    out["paused"] = d.paused();
    out["uptime_s"] = seconds(d.now() - d.started_at());
    out["queue"] = std::move(queue);
    out["quarantined"] = std::move(quarantined);
    out["watts_w"] = watts;
    out["energy"] = {{"counter_j", all.by_source_j[0]},
                     {"power_integral_j", all.by_source_j[1]},
                     {"model_j", all.by_source_j[2]},
                     {"attributed_j", all.jobs_j},
                     {"idle_j", all.idle_j},
                     {"unattributed_j", all.unattributed_j}};
    out["decisions"] = {{"count", d.counts().decisions},
                        {"p50_ms", quantile(0.5)},
                        {"p99_ms", quantile(0.99)},
                        {"refused", d.counts().refused},
                        {"fallbacks", d.counts().fallbacks}};
    out["power_cap_w"] = s.power.fleet_cap_w > 0 ? Json(s.power.fleet_cap_w) : Json();
    out["board_cap_w"] = s.power.board_cap_w > 0 ? Json(s.power.board_cap_w) : Json();
    out["prices"] = Json();
    if (s.priced())
      out["prices"] = {{"energy_per_kwh", s.prices.energy_per_kwh}, {"late_per_hour", s.prices.late_per_hour}};
    out["overtaken_max"] = d.policies().overtaking().most_overtaken();
    out["visible"] = d.belief().visible();
    out["journal_position"] = d.journal_position();
    out["disk"] = d.disk_trouble().empty() ? "ok" : d.disk_trouble();
    out["clock"] = d.world().clock.is_virtual() ? "virtual" : "real";
    out["now_at"] = unix_seconds(d.now());
    return out;
  });
}

Result<Json> DaemonService::set_gpu(const Caller& caller, int gpu, bool drain) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, drain ? "draining a GPU" : "putting a GPU back to work"));
  SMARTMIG_TRY(Ok done, ask<Ok>([=](Daemon& d) { return d.drain(gpu, drain); }, true));
  (void)done;
  SMARTMIG_TRY(Json all, gpus(caller));
  return all["gpus"][std::size_t(gpu)];
}

Result<Json> DaemonService::set_queue(const Caller& caller, bool pause) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, pause ? "pausing the queue" : "resuming the queue"));
  return ask<Json>(
      [=](Daemon& d) -> Result<Json> {
        d.pause(pause);
        return Json{{"paused", d.paused()}};
      },
      true);
}

Result<Json> DaemonService::reload(const Caller& caller) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, "reloading the configuration"));
  if (!facts_.reload) return unsupported("this daemon was started without a configuration file");
  SMARTMIG_TRY(const Settings settings, facts_.reload());
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    SMARTMIG_RETURN_IF_ERROR(d.set_settings(settings));
    return Json{{"policy", d.policies().name()}};
  });
}

Result<Json> DaemonService::backup(const Caller& caller, const std::string& path) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, "a backup"));
  SMARTMIG_RETURN_IF_ERROR(store_.backup(path));
  return Json{{"path", path}};
}

Result<Service::Log> DaemonService::log(const Caller& caller, std::uint64_t id, int attempt) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (!may_touch(caller, found)) return not_yours(id);
  if (attempt < 0 || attempt > found.attempt) return not_found("job {} has {} attempts", id, found.attempt);
  if (found.attempt == 0) return not_found("job {} has not started yet", id);
  const int which = attempt == 0 ? found.attempt : attempt;
  return ask<Log>([&](Daemon& d) -> Result<Log> {
    Log log;
    log.path = d.world().runner.log_path({id, which});
    if (log.path.empty()) return not_found("there is no log of job {}, attempt {}", id, which);
    log.ended = which < found.attempt || is_final(found.status) || found.status == JobStatus::kQueued;
    return log;
  });
}

Result<Service::Lines> DaemonService::events(const Caller&, std::uint64_t after, int limit, double wait_s) {
  Lines out;
  SMARTMIG_TRY(auto rows, store_.events_after(after, limit));
  if (rows.empty() && wait_s > 0) {
    out.closing = !daemon_.wait_for_news(after, wait_s);
    SMARTMIG_TRY(rows, store_.events_after(after, limit));
  }
  for (EventRow& row : rows) out.lines.emplace_back(row.sequence, std::move(row.line));
  return out;
}

std::string DaemonService::metrics() {
  auto filled = ask<MetricsInput>([this](Daemon& d) -> Result<MetricsInput> { return d.metrics(facts_.version); });
  return filled ? metrics_text(*filled) : "";
}

Service::Health DaemonService::health() {
  Health out;
  const auto answer = ask<std::string>([](Daemon& d) -> Result<std::string> { return d.disk_trouble(); });
  if (!answer) return {false, false, answer.error().what};
  out.ready = answer->empty();
  out.words = *answer;
  return out;
}

}  // namespace smartmig
