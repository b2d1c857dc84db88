#include "cluster/cluster_service.h"

#include <algorithm>

#include "base/json.h"
#include "base/users.h"
#include "cluster/shown_json.h"
#include "queue/answers/lanes_json.h"
#include "queue/jobs/job_json.h"
#include "report/world_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostShort = 20'000;  // jobs in one answer
constexpr std::size_t kMostReasons = 100;
constexpr std::size_t kMostInFuture = 3'000;  // jobs: more take minutes

bool asks_for(const JobQuery& query, const JobRecord& job) {
  if (query.uid && *query.uid != job.owner.uid) return false;
  if (query.state.empty()) return true;
  if (query.state == "active") return !is_final(job.status);
  if (query.state == "final") return is_final(job.status);
  return query.state == name_of(job.status);
}

}  // namespace

void ClusterService::serve(ClusterController* controller) {
  controller_ = controller;
  requests_.carry_out();
  requests_.answer(nullptr);
  requests_.stored(past_.position());
}

void ClusterService::close() {
  controller_ = nullptr;
  requests_.stop();
  requests_.close();
}

Error ClusterService::refused(const char* instead) const {
  return unsupported("{} manages the jobs and nodes of this cluster; use {}", words_.name, instead);
}

template <class T>
Result<T> ClusterService::ask(std::function<Result<T>(ClusterController&)> work) {
  return requests_.ask<T>(
      [this, work = std::move(work)]() -> Result<T> {
        if (!controller_) return lost_error("this controller is on standby or has not started yet, so it has no jobs");
        return work(*controller_);
      },
      false);
}

Result<Json> ClusterService::world(const Caller& caller) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    const LiveSession& session = c.session();
    Json out = world_json(session.platform());
    out["kind"] = "live";
    out["version"] = version_;
    out["title"] = c.in_one_line();
    out["policy"] = c.policies().name();
    out["signed_in"] = caller.known();
    out["operator"] = false;  // nothing can be changed from here
    out["user"] = caller.known() ? user_name(caller.uid) : "";
    out["began_at"] = unix_seconds(past_.figures.started());
    out["journal_run"] = session.journal().run_position();
    out["journal_position"] = session.journal().position();
    out["now_at"] = unix_seconds(c.now());
    return out;
  });
}

// Ended ones first: a job that was requeued is among the live ones, too.
Result<Json> ClusterService::changes(const Caller&, std::uint64_t since) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    const bool whole = since == 0 || !past_.knows_since(since);
    const auto live = c.shown_jobs();
    Json jobs = Json::array(), gone = Json::array();
    for (const ClusterPast::Ended& one : past_.ended()) {
      if (whole || one.version <= since) continue;
      jobs.push_back(shown_short(c, one.job));
      if (!c.shown_job(one.job.id)) gone.push_back(number(page_id(one.job.id)));
    }
    std::size_t waiting = 0, told = 0;
    for (const JobRecord* job : live) {
      const bool waits = is_waiting(job->status);
      waiting += waits;
      if (waits && !whole && job->version <= since) continue;  // what runs has joules that change by themselves
      if (++told <= kMostShort || !waits) jobs.push_back(shown_short(c, *job));
    }
    return Json{{"version", past_.version()},
                {"whole", whole},
                {"waiting", waiting},
                {"jobs", std::move(jobs)},
                {"gone", std::move(gone)}};
  });
}

Result<Json> ClusterService::jobs(const Caller&, const JobQuery& query) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    const std::size_t limit = std::size_t(std::max(1, query.limit));
    std::vector<const JobRecord*> found;
    std::vector<JobRecord> past;  // newest first
    for (const JobRecord* job : c.shown_jobs())
      if (asks_for(query, *job) && number(page_id(job->id)) > query.after) found.push_back(job);
    std::sort(found.begin(), found.end(),
              [](const JobRecord* a, const JobRecord* b) { return page_id(a->id) < page_id(b->id); });
    for (auto one = past_.ended().rbegin(); one != past_.ended().rend(); ++one) {
      const std::uint64_t id = number(page_id(one->job.id));
      if (asks_for(query, one->job) && !c.shown_job(one->job.id) && (query.after == 0 || id < query.after))
        past.push_back(one->job);
    }
    std::stable_sort(past.begin(), past.end(),
                     [](const JobRecord& a, const JobRecord& b) { return page_id(a.id) > page_id(b.id); });
    for (const JobRecord& job : past) found.push_back(&job);
    const bool more = found.size() > limit;
    if (more) found.resize(limit);
    Json list = Json::array();
    for (const JobRecord* job : found) list.push_back(shown_whole(c, *job));
    return Json{{"jobs", std::move(list)}, {"more", more}};
  });
}

Result<Json> ClusterService::job(const Caller&, std::uint64_t id) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    const QueueId wanted = from_page_id(QueueId(id));
    if (const JobRecord* live = c.shown_job(wanted)) return shown_whole(c, *live);
    for (auto one = past_.ended().rbegin(); one != past_.ended().rend(); ++one)
      if (one->job.id == wanted) return shown_whole(c, one->job);
    return not_found("job {} is not waiting, running or among the last {} ended jobs; use {}", id,
                     ClusterPast::kMostEnded, words_.history);
  });
}

Result<Json> ClusterService::why(const Caller&, std::uint64_t id) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    SMARTMIG_TRY(const Why why, why_of(c, from_page_id(QueueId(id))));
    return smartmig::to_json(id, why);
  });
}

Result<Json> ClusterService::reasons(const Caller&, const Json& body) {
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "reasons", "", {"ids"}));
  SMARTMIG_TRY(const auto ids, object.counts("ids"));
  if (ids.size() > kMostReasons) return invalid("ids: at most {} at once", kMostReasons);
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    Json list = Json::array();
    for (const std::uint64_t id : ids)
      if (const auto why = why_of(c, from_page_id(QueueId(id))))
        list.push_back({{"id", id}, {"code", why->code}, {"sentence", why->sentence}});
    return Json{{"reasons", std::move(list)}};
  });
}

Result<Json> ClusterService::futures(const Caller&, int count) {
  LiveFork live;
  PolicyMaker policy;
  Json out;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](ClusterController& c) -> Result<Ok> {
                 if (c.session().cluster().unfinished() > kMostInFuture)
                   return unsupported("smartmig simulates the future of at most {} jobs", kMostInFuture);
                 live = fork_of(c);
                 policy = c.policies().deciding();
                 out = {{"now_at", unix_seconds(c.now())}, {"policy", c.policies().name()}, {"futures", count}};
                 return Ok{};
               }));
  (void)forked;
  SMARTMIG_RETURN_IF_ERROR(put_futures(out, live, policy, count));
  return out;
}

Result<Json> ClusterService::gpus(const Caller&) {
  return ask<Json>([](ClusterController& c) -> Result<Json> {
    Json list = Json::array();
    for (std::size_t g = 0; g < c.gpus().size(); ++g) list.push_back(gpu_json(c, GpuId(std::uint32_t(g))));
    return Json{{"gpus", std::move(list)}};
  });
}

Result<Json> ClusterService::status(const Caller&) {
  return ask<Json>([this](ClusterController& c) -> Result<Json> {
    Json out = status_json(c, past_);
    out["version"] = version_;
    out["uptime_s"] = seconds(c.now() - past_.figures.started());
    return out;
  });
}

Result<Json> ClusterService::power(const Caller&, std::uint64_t since) {
  return ask<Json>([&](ClusterController& c) -> Result<Json> {
    return power_json(past_.figures.power, c.options().settings, c.now(), since);
  });
}

Result<Service::Lines> ClusterService::events(const Caller&, std::uint64_t after, int limit, double wait_s) {
  Lines out = past_.lines(after, limit);
  if (!out.lines.empty() || out.closing || wait_s <= 0) return out;
  const bool lives = requests_.wait_for_news(after, wait_s);
  out = past_.lines(after, limit);
  out.closing = out.closing || !lives;
  return out;
}

std::string ClusterService::metrics() {
  const auto text = ask<std::string>([this](ClusterController& c) -> Result<std::string> {
    MetricsInput figures = metrics_of(c, past_);
    figures.program.version = version_;
    figures.program.uptime_s = seconds(c.now() - past_.figures.started());
    return metrics_text(figures) + c.metrics();
  });
  return text ? *text : "";
}

Service::Health ClusterService::health() {
  const auto answer = ask<std::string>([](ClusterController&) -> Result<std::string> { return std::string(); });
  if (answer) return {};
  return {!requests_.stopping(), false, answer.error().what};
}

}  // namespace smartmig
