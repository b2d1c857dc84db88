// Questions about the future: forked on the owner's thread, computed on the asking one.
#include <algorithm>

#include "base/json.h"
#include "model/speed.h"
#include "queue/answers/lanes_json.h"
#include "queue/belief/live_fork.h"
#include "queue/jobs/job_json.h"
#include "serve/api/daemon_service.h"
#include "serve/api/why_now.h"

namespace smartmig {
namespace {

constexpr int kFutures = 20;
constexpr std::chrono::seconds kForWhy{2};

// Why a waiting job has no start.
std::string no_start_words(const JobRecord& job, NoStart why, const LiveFork& live, std::size_t at,
                           const std::string& never) {
  if (job.held_by == HeldBy::kNobody && !never.empty()) return never;
  if (job.held_by != HeldBy::kNobody || why == NoStart::kHeld) return job.reason;
  std::string others;
  for (const ForkAfter& after : live.fork.jobs[at].after)
    others += fmt::format("{}{}", others.empty() ? "" : ", ", after.job);
  if (why == NoStart::kDependencyFails)
    return fmt::format("it runs only if job {} fails, and smartmig expects jobs to succeed", others);
  return fmt::format("it waits for job {}, which has no expected end", others);
}

// A time would be a guess at when somebody resumes it.
Error is_paused(const std::string& what) {
  return busy_error("the queue is paused until smartmig resume, so {} is unknown", what);
}

}  // namespace

Result<Service::Json> DaemonService::eta(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  LiveFork live;
  PolicyMaker policy;
  std::string never;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused() && is_waiting(found.status))
                   return is_paused(fmt::format("when job {} starts", id));
                 DaemonState& state = d.state();
                 live = state.fork({QueueId(id), QueueId(id)});
                 policy = d.policies().deciding();
                 if (is_waiting(found.status))
                   never = state.quotas.never_fits(found, asked_slices(found, state.session.platform()));
                 return Ok{};
               }));
  (void)forked;
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at == live.ids.end())
    return busy_error("too many jobs are ahead of job {} to predict its start; ask again later", id);
  SMARTMIG_TRY(const Etas drawn, smartmig::eta(live.fork, policy, kFutures, 1, LookLimit(kForFutures)));
  const std::vector<Eta>& etas = drawn.jobs;
  const std::size_t index = std::size_t(at - live.ids.begin());
  const bool waits = is_waiting(found.status), held = waits && found.held_by != HeldBy::kNobody;
  Json mine = eta_json(etas[index], live.origin, drawn.futures), out = mine;
  out["no_start"] = Json();
  out["if_released"] = Json();
  if (held || etas[index].no_start != NoStart::kStarts)
    out["no_start"] = no_start_words(found, etas[index].no_start, live, index, never);
  if (held) {  // its futures are of the queue in which it is released now
    Eta none;
    none.expected_start = none.expected_finish = kNever;
    none.no_start = NoStart::kHeld;
    none.deadline = etas[index].deadline;
    out.update(eta_json(none, live.origin, drawn.futures));
    mine.erase("deadline_at");
    out["if_released"] = std::move(mine);
  }
  const Eta& forecast = etas[index];
  const Time asked = live.fork.now;
  const auto seen = [&](const Spread& spread) {
    return ForecastScores::Forecast{seconds(spread.p10 - asked), seconds(spread.p50 - asked),
                                    seconds(spread.p90 - asked)};
  };
  if (!held && forecast.no_start == NoStart::kStarts) {
    ForecastScores::Given given{unix_seconds(asked + live.origin), {}, seen(forecast.finish)};
    if (is_waiting(found.status)) given.start = seen(forecast.start);
    SMARTMIG_RETURN_IF_ERROR(ask<Ok>([&](Daemon& d) -> Result<Ok> {
      if (d.state().book.find(QueueId(id))) d.state().estimates.gave(QueueId(id), given);
      return Ok{};
    }));
  }
  out["job"] = id;
  out["futures"] = drawn.futures;
  out["state"] = name_of(found.status);
  out["started_at"] = waits || found.times.started == kNotYet ? Json() : Json(unix_seconds(found.times.started));
  return out;
}

Result<Service::Json> DaemonService::calibration(const Caller&) {
  return ask<Json>([](Daemon& d) -> Result<Json> {
    Json list = Json::array();
    for (int kind = 0; kind < ForecastScores::kKinds; ++kind) {
      const ForecastScores::Figures of = d.state().estimates.calibration().figures(ForecastScores::Kind(kind));
      const auto figure = [&](double x) { return of.count > 0 ? Json(x) : Json(); };
      list.push_back({{"forecast", ForecastScores::name_of(ForecastScores::Kind(kind))},
                      {"count", of.count},
                      {"held_ratio", figure(of.held)},
                      {"mean_width_s", figure(of.width_s)},
                      {"mean_score_s", figure(of.score_s)},
                      {"median_off", figure(of.off)}});
    }
    return Json{{"interval_ratio", 0.8}, {"forecasts", std::move(list)}};
  });
}

Result<Service::Json> DaemonService::futures(const Caller&, int count) {
  SMARTMIG_TRY(const std::string state, ask<std::string>([](Daemon& d) -> Result<std::string> {
                 if (d.decisions().paused()) return is_paused("its future");
                 return fmt::format("{} {} {}", d.state().session.journal().position(), d.state().book.version(),
                                    d.policies().name());
               }));
  return futures_.get(std::to_string(count), state, [&]() -> Result<Json> {
    LiveFork live;
    PolicyMaker policy;
    Json out;
    SMARTMIG_RETURN_IF_ERROR(ask<Ok>([&](Daemon& d) -> Result<Ok> {
      live = d.state().fork({QueueId(~std::uint64_t{0}), kNoId});
      policy = d.policies().deciding();
      out = {{"now_at", unix_seconds(d.now())}, {"policy", d.policies().name()}};
      return Ok{};
    }));
    SMARTMIG_RETURN_IF_ERROR(put_futures(out, live, policy, count));
    return out;
  });
}

Result<Service::Json> DaemonService::why(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) {
    Why why{"ended",
            fmt::format("job {} has ended: {}{}{}", id, name_of(found.status), found.reason.empty() ? "" : ", ",
                        found.reason),
            {},
            {}};
    return smartmig::to_json(id, why);
  }
  LiveFork live;
  PolicyMaker policy;
  UnixTime now{};
  SMARTMIG_TRY(Why why, ask<Why>([&](Daemon& d) -> Result<Why> {
                 live = d.state().fork({QueueId(id), QueueId(id)});
                 policy = d.policies().deciding();
                 now = d.now();
                 return why_now(d, QueueId(id));
               }));
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at != live.ids.end() && why.code != "running" && why.code != "queue_paused") {
    const std::size_t i = std::size_t(at - live.ids.begin());
    const bool held = found.held_by != HeldBy::kNobody;  // the fork has it released
    std::optional<Outcome> as_it_is;
    why.alternatives =
        priced_alternatives(live.fork, i, policy, live.prices, live.origin, &as_it_is, LookLimit(kForWhy));
    why.waits_for = awaited_by(live.fork, i, as_it_is, live.origin);
    if (why.code == "held_dependency") why.sentence += awaited_words(why.waits_for, now);
    if (held && !why.alternatives.empty()) {
      why.alternatives.resize(1);
      why.alternatives[0].what = "if released now";
    }
  }
  return smartmig::to_json(id, why);
}

}  // namespace smartmig
