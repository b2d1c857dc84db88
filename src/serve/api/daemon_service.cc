#include "serve/api/daemon_service.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/users.h"
#include "queue/jobs/job_json.h"
#include "serve/api/daemon_metrics.h"
#include "serve/api/service_rules.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostSpecs = 1'000;  // what one look at all of them costs the owner

std::string settings_words(const std::string& policy, double cap_w) {
  return fmt::format("policy {}, {}, until the configuration is reloaded", policy,
                     cap_w > 0 ? fmt::format("under a cap of {:.0f} W", cap_w) : "without a power cap");
}

Result<Ok> operator_only(const Caller& caller, const char* what) {
  if (caller.operator_rights) return Ok{};
  return no_permission("only the operator (root or the daemon's user) may do this: {}", what);
}
// Where a remote client is at home says nothing about its user here: the job gets what this machine knows of the user.
bool is_of_the_sender(const std::string& variable) {
  for (const char* name : {"HOME=", "USER=", "LOGNAME=", "SHELL=", "XDG_RUNTIME_DIR=", "TMPDIR=", "MAIL="})
    if (variable.starts_with(name)) return true;
  return false;
}

}  // namespace

// Each question is a step, and each step lets some hundred tasks in. Arrays that come meanwhile are not waited for.
Result<Ok> DaemonService::let_in(const Unfolding::Meant& meant) {
  QueueId until = kNoId;
  for (bool some = true; some;) {
    SMARTMIG_TRY(some, ask<bool>([&](Daemon& d) -> Result<bool> {
                   if (until == kNoId) until = d.state().book.next_id();
                   const bool found = d.jobs().unfolding().any(
                       [&](const JobRecord& next, std::size_t tasks) { return next.id < until && meant(next, tasks); });
                   if (const std::string& trouble = d.state().book.disk_trouble(); found && !trouble.empty())
                     return io_error("nothing was changed: tasks of an array cannot enter the queue: {}", trouble);
                   return found;
                 }));
  }
  return Ok{};
}

Result<JobRecord> DaemonService::record(std::uint64_t id) {
  std::optional<JobRecord> live;
  for (bool entering = true; entering && !live;) {
    SMARTMIG_TRY(live, ask<std::optional<JobRecord>>([&](Daemon& d) -> Result<std::optional<JobRecord>> {
                   const auto at = d.live_jobs().find(QueueId(id));
                   if (at != d.live_jobs().end()) return std::optional<JobRecord>(at->second);
                   entering = d.jobs().unfolding().has(QueueId(id));
                   const std::string& trouble = d.state().book.disk_trouble();
                   if (entering && !trouble.empty())
                     return io_error("job {} cannot enter the queue with the first tasks of its array: {}", id,
                                     trouble);
                   if (trouble.empty()) return std::optional<JobRecord>();
                   SMARTMIG_TRY(const auto pending, d.state().book.stored(QueueId(id)));
                   if (!pending) return std::optional<JobRecord>();
                   SMARTMIG_TRY(JobRecord ended, from_row(*pending));
                   return std::optional<JobRecord>(std::move(ended));
                 }));
  }
  if (live) return std::move(*live);
  SMARTMIG_TRY(const auto row, store_.job(id));
  if (!row) return not_found("there is no job {}", id);
  return from_row(*row);
}

Result<std::vector<JobRecord>> DaemonService::unstored(const JobQuery& query) {
  return ask<std::vector<JobRecord>>([&](Daemon& d) -> Result<std::vector<JobRecord>> {
    std::vector<JobRecord> out;
    LiveJobs& book = d.state().book;
    if (book.disk_trouble().empty() || query.after > 0) return out;
    for (const QueueId id : book.pending().unstored_ends()) {
      SMARTMIG_TRY(const auto row, book.stored(id));
      if (!row) continue;
      SMARTMIG_TRY(JobRecord job, from_row(*row));
      const bool wanted = query.state.empty() || query.state == "final" || query.state == name_of(job.status);
      if (wanted && (!query.uid || *query.uid == job.owner.uid)) out.push_back(std::move(job));
    }
    std::reverse(out.begin(), out.end());
    return out;
  });
}

Result<Json> DaemonService::submit(const Caller& asking, const Json& body, std::optional<std::uint32_t> owner) {
  SMARTMIG_TRY(const Caller caller, on_behalf_of(asking, owner));
  if (facts_.only_uid && caller.uid != *facts_.only_uid)
    return no_permission(
        "this daemon belongs to {} and runs only that user's jobs; a daemon of root runs all "
        "users' jobs",
        user_name(*facts_.only_uid));
  std::vector<JobSpec> specs;
  const UnixTime now = daemon_.now();
  const auto add = [&](const Json& one) -> Result<Ok> {
    SMARTMIG_TRY(JobSpec spec, read_job_spec(one, now));
    if (caller.remote) std::erase_if(spec.environment, is_of_the_sender);
    specs.push_back(std::move(spec));
    return Ok{};
  };
  if (body.is_object() && body.contains("jobs")) {
    if (!body["jobs"].is_array() || body["jobs"].empty() || body.size() != 1)
      return invalid("the body must be a job, or {{\"jobs\": [job, ...]}} with at least one job");
    if (body["jobs"].size() > kMostSpecs)
      return invalid("{} jobs in one request exceed the limit of {}; send several requests, or an array",
                     body["jobs"].size(), kMostSpecs);
    for (const Json& one : body["jobs"]) SMARTMIG_RETURN_IF_ERROR(add(one));
  } else {
    SMARTMIG_RETURN_IF_ERROR(add(body));
  }
  std::set<std::uint64_t> waited_for;
  for (const JobSpec& spec : specs)
    for (const Dependency& d : spec.dependencies) waited_for.insert(d.job);
  if (!waited_for.empty())
    SMARTMIG_RETURN_IF_ERROR(let_in([&](const JobRecord& next, std::size_t tasks) {
      const auto first = waited_for.lower_bound(number(next.id));
      return first != waited_for.end() && *first - number(next.id) < tasks;
    }));
  std::vector<std::string> not_held, warnings, left;
  SMARTMIG_RETURN_IF_ERROR(look_at_paths(caller, specs, not_held));
  Json jobs = Json::array();
  std::size_t shown = 0;
  const auto show = [&](Daemon& d, QueueId id) {
    if (const auto at = d.live_jobs().find(id); at != d.live_jobs().end())
      jobs.push_back(shown_to(caller, d, at->second));
  };
  SMARTMIG_TRY(const std::vector<QueueId> ids,
               ask<std::vector<QueueId>>(
                   [&](Daemon& d) -> Result<std::vector<QueueId>> {
                     const SliceOfTime slice;
                     SMARTMIG_TRY(auto made, d.jobs().submit(caller, std::move(specs), warnings, not_held));
                     if (const auto job = d.live_jobs().find(made[0]); job != d.live_jobs().end())
                       left = d.state().quotas.left(job->second);
                     for (; shown < made.size() && !slice.over() && !d.jobs().unfolding().has(made[shown]); ++shown)
                       show(d, made[shown]);
                     return made;
                   },
                   true));
  // They are accepted: what goes wrong here is no refusal. Tasks of large arrays are still entering the queue.
  for (bool more = shown < ids.size(); more;) {
    const auto gone_on = ask<bool>([&](Daemon& d) -> Result<bool> {
      const SliceOfTime slice;
      for (; shown < ids.size() && !slice.over(); ++shown) {
        if (d.jobs().unfolding().has(ids[shown])) return d.state().book.disk_trouble().empty();
        show(d, ids[shown]);
      }
      return shown < ids.size();
    });
    more = gone_on && *gone_on;
  }
  return Json{{"ids", ids}, {"jobs", std::move(jobs)}, {"warnings", warnings}, {"quotas", left}};
}

Result<Ok> DaemonService::look_at_paths(const Caller& caller, const std::vector<JobSpec>& specs,
                                        std::vector<std::string>& not_held) {
  const std::string what = specs.size() == 1 ? fmt::format("{} or a directory of its PATH", specs[0].directory)
                                             : "a directory of these jobs";
  SMARTMIG_TRY(
      PathLooks::Seen seen,
      paths_.at(caller.uid, what, [looks = daemon_.world().runner.looks(), specs, uid = caller.uid, gid = caller.gid] {
        PathLooks::Seen out;
        for (const JobSpec& spec : specs) {
          if (auto can = looks.can_reach(spec, uid, gid); !can) out.reachable = std::move(can);
          if (!out.reachable) break;
          const auto can = spec.prelaunch.value_or(true) ? looks.can_hold(spec, uid, gid) : Result<Ok>(Ok{});
          out.not_held.push_back(can ? "" : can.error().what);
        }
        return out;
      }));
  not_held = std::move(seen.not_held);
  return std::move(seen.reachable);
}

Result<Json> DaemonService::live_jobs(const Caller& caller, const JobQuery& query, std::size_t most) {
  Json out = Json::array();
  for (std::optional<std::uint64_t> after = query.after; after;) {
    SMARTMIG_TRY(after, ask<std::optional<std::uint64_t>>([&](Daemon& d) -> Result<std::optional<std::uint64_t>> {
                   const SliceOfTime slice;
                   for (auto at = d.live_jobs().upper_bound(QueueId(*after)); at != d.live_jobs().end(); ++at) {
                     const JobRecord& job = at->second;
                     if (query.uid && *query.uid != job.owner.uid) continue;
                     if (!query.state.empty() && query.state != "active" && query.state != name_of(job.status))
                       continue;
                     out.push_back(shown_to(caller, d, job));
                     if (out.size() == most) break;
                     if (slice.over()) return std::optional(number(at->first));
                   }
                   return std::optional<std::uint64_t>();
                 }));
  }
  return out;
}

Result<Json> DaemonService::jobs(const Caller& caller, const JobQuery& query) {
  const std::size_t limit = std::size_t(std::max(1, query.limit));
  const bool live = query.state != "final" && query.state != "done" && query.state != "failed" &&
                    query.state != "cancelled" && query.state != "timed_out";
  Json found = Json::array();
  StoreFind find;
  find.uid = query.uid;
  find.final = true;
  find.newest_first = true;
  if (live) {
    SMARTMIG_TRY(found, live_jobs(caller, query, limit + 1));
    const bool more = found.size() > limit;
    if (more) found.erase(found.size() - 1);
    // Without a state: the live ones, then the newest of the others.
    if (!query.state.empty() || more || query.after > 0 || found.size() == limit)
      return Json{{"jobs", std::move(found)}, {"more", more}};
    find.limit = int(limit - found.size());
  } else {
    find.after = query.after;
    find.limit = int(limit) + 1;
    for (int s = 0; s < kJobStatuses; ++s)
      if (query.state == name_of(JobStatus(s))) find.status = s;
  }
  SMARTMIG_TRY(const auto rows, store_.find(find));
  SMARTMIG_TRY(std::vector<JobRecord> records, unstored(query));
  for (const JobRow& row : rows) {
    SMARTMIG_TRY(JobRecord stored, from_row(row));
    if (live || records.size() < limit) records.push_back(std::move(stored));
  }
  SMARTMIG_RETURN_IF_ERROR(
      in_slices(records.size(), [&](Daemon& d, std::size_t i) { found.push_back(shown_to(caller, d, records[i])); }));
  return Json{{"jobs", std::move(found)}, {"more", !live && rows.size() > limit}};
}

Result<Json> DaemonService::job(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  SMARTMIG_TRY(Json shown, ask<Json>([&](Daemon& d) -> Result<Json> {
                 const auto at = d.live_jobs().find(QueueId(id));
                 return shown_to(caller, d, at == d.live_jobs().end() ? found : at->second, true);
               }));
  return with_launch(std::move(shown), found);
}

Result<Json> DaemonService::with_launch(Json shown, const JobRecord& job) {
  if (!shown.contains("spec") || (job.launch.script == 0 && !job.launch.command)) return shown;
  SMARTMIG_TRY(const auto kept, store_.launch(job.launch.id));
  if (!kept) return shown;
  JobSpec spec;
  SMARTMIG_RETURN_IF_ERROR(take_launch(spec, *kept));
  if (job.launch.script != 0) shown["spec"]["script"] = std::move(spec.script);
  if (job.launch.command) shown["command"] = shown["spec"]["command"] = std::move(spec.command);
  return shown;
}

Result<Json> DaemonService::cancel(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (!may_touch(caller, found)) return not_yours(id);
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  SMARTMIG_TRY(Ok done,
               ask<Ok>([&](Daemon& d) { return d.jobs().cancel(QueueId(id), cancelled_by(caller, found)); }, true));
  (void)done;
  return job(caller, id);
}

Result<Json> DaemonService::requeue(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (!may_touch(caller, found)) return not_yours(id);
  SMARTMIG_TRY(Ok done,
               ask<Ok>([&](Daemon& d) { return d.jobs().requeue(QueueId(id), caller.operator_rights); }, true));
  (void)done;
  return job(caller, id);
}

Result<Json> DaemonService::set_gpu(const Caller& caller, int gpu, bool drain) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, drain ? "draining a GPU" : "returning a GPU to service"));
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
        return Json{{"paused", d.decisions().paused()}};
      },
      true);
}

Result<Json> DaemonService::reload(const Caller& caller) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, "reloading the configuration"));
  if (!facts_.reload) return unsupported("this daemon has no configuration file to reload");
  SMARTMIG_TRY(const Settings settings, facts_.reload());
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    SMARTMIG_RETURN_IF_ERROR(d.set_settings(settings));
    return Json{{"policy", d.policies().name()}};
  });
}

Result<Json> DaemonService::set_settings(const Caller& caller, const Json& body) {
  SMARTMIG_RETURN_IF_ERROR(operator_only(caller, "changing the policy or the power cap"));
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "settings", "", {"policy", "power_cap_w"}));
  SMARTMIG_TRY(const std::string policy, object.text("policy", ""));
  std::optional<double> cap;
  if (object.has("power_cap_w")) {
    SMARTMIG_TRY(cap, object.number("power_cap_w", 0, 1e9));
  }
  if (policy.empty() && !cap) return invalid("name a change: policy or power_cap_w");
  return ask<Json>(
      [&](Daemon& d) -> Result<Json> {
        Settings wanted = d.state().settings;
        if (!policy.empty()) wanted.policy.name = policy;
        if (cap) wanted.power.fleet_cap_w = *cap;
        SMARTMIG_RETURN_IF_ERROR(d.set_settings(std::move(wanted)));
        const double now = d.state().settings.power.fleet_cap_w;
        d.state().session.note(
            "settings", fmt::format("\"policy\":{},\"power_cap_w\":{},\"words\":{}", json_text(d.policies().name()),
                                    now, json_text(settings_words(d.policies().name(), now))));
        return Json{{"policy", d.policies().name()}, {"power_cap_w", now > 0 ? Json(now) : Json()}};
      },
      true);
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
  if (found.attempt == 0)
    return not_found("job {} has not started; smartmig why {} explains what it is waiting for", id, id);
  const int which = attempt == 0 ? found.attempt : attempt;
  return ask<Log>([&](Daemon& d) -> Result<Log> {
    Log log;
    log.path = d.world().runner.log_path({id, which});
    if (log.path.empty()) return not_found("job {}, attempt {} has no log", id, which);
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
  auto filled = ask<MetricsInput>([this](Daemon& d) -> Result<MetricsInput> { return metrics_of(d, facts_.version); });
  return filled ? metrics_text(*filled) : "";
}

Service::Health DaemonService::health() {
  Health out;
  const auto answer = ask<std::string>([](Daemon& d) -> Result<std::string> { return d.state().book.disk_trouble(); });
  if (!answer) return {false, false, answer.error().what};
  out.ready = answer->empty();
  out.words = *answer;
  return out;
}

}  // namespace smartmig
