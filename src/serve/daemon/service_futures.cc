// Questions about the future: forked on the owner's thread, computed on the asking one.
#include <algorithm>

#include "base/json.h"
#include "model/speed.h"
#include "serve/daemon/daemon_service.h"
#include "serve/daemon/job_json.h"
#include "serve/daemon/lanes_json.h"
#include "serve/daemon/live_fork.h"
#include "serve/daemon/why_now.h"

namespace smartmig {
namespace {

constexpr int kFutures = 20;

LiveFork fork_of(Daemon& daemon, QueueId up_to) {
  DaemonState& state = daemon.state();
  return fork_of(state.session, state.book, state.settings, up_to);
}

// A time would be a guess at when somebody resumes it.
Error is_paused(const std::string& what) {
  return busy_error("the queue is paused: nothing is started until smartmig resume, so {} is not known", what);
}

}  // namespace

Result<Service::Json> DaemonService::eta(const Caller&, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord found, record(id));
  if (is_final(found.status)) return busy_error("job {} has ended already: {}", id, name_of(found.status));
  LiveFork live;
  PolicyMaker policy;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused() && is_waiting(found.status))
                   return is_paused(fmt::format("when job {} starts", id));
                 live = fork_of(d, QueueId(id));
                 policy = d.policies().deciding();
                 return Ok{};
               }));
  (void)forked;
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at == live.ids.end()) return busy_error("job {} has too many before it to look ahead; ask again later", id);
  SMARTMIG_TRY(const auto etas, smartmig::eta(live.fork, policy, kFutures, 1));
  const Eta& mine = etas[std::size_t(at - live.ids.begin())];
  const Time asked = live.fork.now;
  const auto seen = [&](const Spread& spread) {
    return ForecastScores::Forecast{seconds(spread.p10 - asked), seconds(spread.p50 - asked),
                                    seconds(spread.p90 - asked)};
  };
  ForecastScores::Given given{unix_seconds(asked + live.origin), {}, seen(mine.finish)};
  if (is_waiting(found.status)) given.start = seen(mine.start);
  SMARTMIG_RETURN_IF_ERROR(ask<Ok>([&](Daemon& d) -> Result<Ok> {
    if (d.state().book.find(QueueId(id))) d.state().estimates.gave(QueueId(id), given);
    return Ok{};
  }));
  Json out = {{"job", id},
              {"futures", kFutures},
              {"expected_start_at", unix_seconds(mine.expected_start + live.origin)},
              {"expected_finish_at", unix_seconds(mine.expected_finish + live.origin)},
              {"start_at", spread_json(mine.start, live.origin)},
              {"finish_at", spread_json(mine.finish, live.origin)},
              {"deadline_at", found.spec.deadline ? Json(unix_seconds(*found.spec.deadline)) : Json()},
              {"on_time_ratio", mine.on_time_ratio}};
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
  LiveFork live;
  PolicyMaker policy;
  Json out;
  SMARTMIG_TRY(Ok forked, ask<Ok>([&](Daemon& d) -> Result<Ok> {
                 if (d.decisions().paused()) return is_paused("how it goes on");
                 live = fork_of(d, QueueId(~std::uint64_t{0}));
                 policy = d.policies().deciding();
                 out = {{"now_at", unix_seconds(d.now())}, {"policy", d.policies().name()}, {"futures", count}};
                 return Ok{};
               }));
  (void)forked;
  SMARTMIG_RETURN_IF_ERROR(put_futures(out, live, policy, count));
  return out;
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
  SMARTMIG_TRY(Why why, ask<Why>([&](Daemon& d) -> Result<Why> {
                 live = fork_of(d, QueueId(id));
                 policy = d.policies().deciding();
                 return why_now(d, QueueId(id));
               }));
  const auto at = std::find(live.ids.begin(), live.ids.end(), QueueId(id));
  if (at != live.ids.end() && why.code != "running" && why.code != "queue_paused") {
    // Alternatives are found by the row in the cluster; one that is not visible gets a number of its own.
    const std::size_t i = std::size_t(at - live.ids.begin());
    if (live.fork.jobs[i].live == kNoJob) live.fork.jobs[i].live = JobId(0xFFFFFFFE);
    why.alternatives = priced_alternatives(live.fork, live.fork.jobs[i].live, policy, live.prices, live.origin);
  }
  return smartmig::to_json(id, why);
}

}  // namespace smartmig
