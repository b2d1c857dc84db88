// What the page asks: which world this is and who looks at it, the live jobs in short, and the codes of some of them.
#include "base/json.h"
#include "base/users.h"
#include "queue/jobs/job_json.h"
#include "report/world_json.h"
#include "serve/api/daemon_service.h"
#include "serve/api/why_now.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostShort = 20'000;  // jobs in one answer
constexpr std::size_t kMostEnded = 200;     // ended ones whose rows are read for it
constexpr std::size_t kMostReasons = 100;

Json shown_short(const Daemon& daemon, const JobRecord& job) {
  JobShown shown;
  shown.now = daemon.now();
  if (!job.suspended) shown.expected = daemon.state().session.expected_finish(job.id);
  shown.cost = cost_of(job, daemon.state().settings.priced(), shown.now, shown.expected);
  return short_json(job, shown);
}

}  // namespace

Result<Json> DaemonService::world(const Caller& caller) {
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    const DaemonState& state = d.state();
    Json out = world_json(state.session.platform());
    out["kind"] = "live";
    out["version"] = facts_.version;
    out["title"] = state.session.platform().spec();
    out["policy"] = d.policies().name();
    out["signed_in"] = caller.known();
    out["operator"] = caller.operator_rights;
    out["user"] = caller.known() ? user_name(caller.uid) : "";
    out["began_at"] = unix_seconds(state.figures.started());
    out["journal_run"] = state.session.journal().run_position();
    out["journal_position"] = state.session.journal().position();
    out["now_at"] = unix_seconds(d.now());
    return out;
  });
}

Result<Json> DaemonService::changes(const Caller&, std::uint64_t since) {
  std::optional<std::vector<QueueId>> gone;
  std::uint64_t version = 0;
  std::size_t waiting = 0;
  Json jobs = Json::array();
  // The version is that of the first question: what changes while the others are asked is told the next time, too.
  for (std::optional<QueueId> after = kNoId; after;) {
    SMARTMIG_TRY(after, ask<std::optional<QueueId>>([&](Daemon& d) -> Result<std::optional<QueueId>> {
                   const SliceOfTime slice;
                   const LiveJobs& book = d.state().book;
                   if (version == 0) {
                     version = book.version();
                     gone = since > 0 && since <= version ? book.gone_since(since) : std::nullopt;
                   }
                   for (auto at = book.live().upper_bound(*after); at != book.live().end(); ++at) {
                     const auto& [id, job] = *at;
                     if (is_phantom(id)) continue;
                     waiting += is_waiting(job.status);
                     const bool moves = !is_waiting(job.status);  // its joules and its finish change by themselves
                     if (gone && !moves && job.version <= since) continue;
                     if (moves || jobs.size() < kMostShort) jobs.push_back(shown_short(d, job));
                     if (slice.over()) return std::optional(id);
                   }
                   return std::optional<QueueId>();
                 }));
  }
  const std::vector<QueueId> ids = gone.value_or(std::vector<QueueId>());
  SMARTMIG_TRY(const std::vector<JobRecord> ended, ended_of(std::span(ids).first(std::min(ids.size(), kMostEnded))));
  SMARTMIG_RETURN_IF_ERROR(
      in_slices(ended.size(), [&](Daemon& d, std::size_t i) { jobs.push_back(shown_short(d, ended[i])); }));
  return Json{{"version", version},
              {"whole", !gone.has_value()},
              {"waiting", waiting},
              {"jobs", std::move(jobs)},
              {"gone", ids}};
}

// Those of them that have ended and are kept: the owner names the ones that are not stored yet, the store has the others.
Result<std::vector<JobRecord>> DaemonService::ended_of(std::span<const QueueId> ids) {
  std::vector<std::optional<JobRow>> rows(ids.size());
  std::vector<char> live(ids.size());
  std::optional<Error> failed;
  SMARTMIG_RETURN_IF_ERROR(in_slices(ids.size(), [&](Daemon& d, std::size_t i) {
    const LiveJobs& book = d.state().book;
    live[i] = book.find(ids[i]) != nullptr;
    if (live[i] || book.disk_trouble().empty()) return;
    auto pending = book.stored(ids[i]);
    if (pending)
      rows[i] = std::move(*pending);
    else
      failed = pending.error();
  }));
  if (failed) return *failed;
  std::vector<JobRecord> ended;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (live[i]) continue;
    if (!rows[i]) {
      SMARTMIG_TRY(rows[i], store_.job(number(ids[i])));
    }
    if (!rows[i]) continue;  // pruned
    SMARTMIG_TRY(JobRecord job, from_row(*rows[i]));
    if (is_final(job.status)) ended.push_back(std::move(job));
  }
  return ended;
}

Result<Json> DaemonService::reasons(const Caller&, const Json& body) {
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "reasons", "", {"ids"}));
  SMARTMIG_TRY(const auto ids, object.counts("ids"));
  if (ids.size() > kMostReasons) return invalid("ids: at most {} at once", kMostReasons);
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    Json list = Json::array();
    for (const std::uint64_t id : ids)
      if (const auto why = why_now(d, QueueId(id)))
        list.push_back({{"id", id}, {"code", why->code}, {"sentence", why->sentence}});
    return Json{{"reasons", std::move(list)}};
  });
}

}  // namespace smartmig
