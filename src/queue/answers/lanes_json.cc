#include "queue/answers/lanes_json.h"

#include <algorithm>

namespace smartmig {

using Json = nlohmann::json;

namespace {

double idle_watts(const Platform& platform) {
  double idle = 0;
  for (std::size_t g = 0; g < platform.gpus(); ++g) idle += platform.model(GpuId(g)).power.idle();
  return idle;
}

}  // namespace

void put_lanes(nlohmann::json& out, const Fork& fork, const std::vector<Event>& events, const std::vector<QueueId>& ids,
               UnixTime origin) {
  const FutureLanes lanes = lanes_of(fork, events);
  const auto slice = [&](GpuId gpu, PlacementId where) {
    const GpuModel& model = *fork.platform->model(gpu).gpu;
    return fmt::format("{}@{}", model.profile_of(where).name, model.placement(where).start);
  };
  nlohmann::json stays = nlohmann::json::array(), layouts = nlohmann::json::array(), power = nlohmann::json::array();
  for (const FutureStay& stay : lanes.stays) {
    const bool known = stay.job < ids.size() && ids[stay.job] != kNoId;
    stays.push_back({{"id", known ? nlohmann::json(number(ids[stay.job])) : nlohmann::json()},
                     {"gpu", index(stay.gpu)},
                     {"slice", slice(stay.gpu, stay.where)},
                     {"begin_at", unix_seconds(origin + stay.begin)},
                     {"end_at", unix_seconds(origin + stay.end)},
                     {"finished", stay.finished}});
  }
  for (const FutureLayout& step : lanes.layouts) {
    nlohmann::json slices = nlohmann::json::array();
    for (const PlacementId p : step.layout) slices.push_back(slice(step.gpu, p));
    layouts.push_back(
        {{"at", unix_seconds(origin + step.at)}, {"gpu", index(step.gpu)}, {"slices", std::move(slices)}});
  }
  for (const FuturePower& step : lanes.power)
    power.push_back({{"at", unix_seconds(origin + step.at)}, {"watts_w", step.watts}});
  out["stays"] = std::move(stays);
  out["layouts"] = std::move(layouts);
  out["power"] = std::move(power);
}

nlohmann::json outcome_json(const Outcome& outcome, UnixTime origin, const std::optional<EnergyPrices>& prices) {
  return {{"policy", outcome.policy},
          {"energy_j", outcome.energy_j},
          {"late_s", outcome.late_s},
          {"late_jobs", outcome.late_jobs},
          {"mean_late_s", outcome.mean_late_s},
          {"last_finish_at", unix_seconds(outcome.last_finish + origin)},
          {"jobs", std::count_if(outcome.jobs.begin(), outcome.jobs.end(),
                                 [](const JobOutcome& job) { return job.finish != kNever; })},
          {"cost", prices ? nlohmann::json(outcome.cost(*prices)) : nlohmann::json()}};
}

nlohmann::json instant_json(Time at, UnixTime origin) {
  return at == kNever ? nlohmann::json() : nlohmann::json(unix_seconds(at + origin));
}

nlohmann::json late_json(const std::optional<double>& late_s) { return late_s ? Json(*late_s) : Json(); }

nlohmann::json eta_json(const Eta& eta, UnixTime origin, int futures) {
  const bool spreads = futures > 0 && eta.no_start == NoStart::kStarts;
  return {{"expected_start_at", instant_json(eta.expected_start, origin)},
          {"expected_finish_at", instant_json(eta.expected_finish, origin)},
          {"start_at", spreads ? spread_json(eta.start, origin) : Json()},
          {"finish_at", spreads ? spread_json(eta.finish, origin) : Json()},
          {"deadline_at", instant_json(eta.deadline, origin)},
          {"on_time_ratio", spreads && eta.on_time_ratio ? Json(*eta.on_time_ratio) : Json()}};
}

nlohmann::json no_start_json(NoStart why) {
  switch (why) {
    case NoStart::kStarts:
      return nullptr;
    case NoStart::kHeld:
      return "held";
    case NoStart::kWaitsForHeld:
      return "waits_for_held";
    case NoStart::kDependencyFails:
      return "dependency_fails";
  }
  return nullptr;
}

nlohmann::json spread_json(const Spread& spread, UnixTime origin) {
  return {{"p10", unix_seconds(spread.p10 + origin)},
          {"p50", unix_seconds(spread.p50 + origin)},
          {"p90", unix_seconds(spread.p90 + origin)}};
}

Result<Ok> put_futures(nlohmann::json& out, const LiveFork& live, const PolicyMaker& policy, int count) {
  MemoryJournal journal;
  Outcome expected;
  SMARTMIG_TRY(const Etas drawn,
               smartmig::eta(live.fork, policy, count, 1, LookLimit(kForFutures), &journal, &expected));
  const std::vector<Eta>& etas = drawn.jobs;
  out["futures"] = drawn.futures;
  Json jobs = Json::array();
  for (std::size_t i = 0; i < etas.size(); ++i) {
    if (is_phantom(live.ids[i])) continue;
    Json one = eta_json(etas[i], live.origin, drawn.futures);
    one["id"] = number(live.ids[i]);
    one["late_s"] = late_json(expected.jobs[i].late_s);
    one["no_start"] = no_start_json(etas[i].no_start);
    jobs.push_back(std::move(one));
  }
  out["outcome"] = etas.empty() ? Json() : outcome_json(expected, live.origin, live.prices);
  out["jobs"] = std::move(jobs);
  put_lanes(out, live.fork, journal.events(), live.ids, live.origin);
  out["idle_w"] = idle_watts(*live.fork.platform);
  return Ok{};
}

}  // namespace smartmig
