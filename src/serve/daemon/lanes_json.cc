#include "serve/daemon/lanes_json.h"

namespace smartmig {

using Json = nlohmann::json;

void put_lanes(nlohmann::json& out, const Fork& fork, const std::vector<Event>& events, const std::vector<QueueId>& ids,
               UnixTime origin) {
  const FutureLanes lanes = lanes_of(fork, events);
  const auto slice = [&](GpuId gpu, PlacementId where) {
    const GpuModel& model = *fork.platform->model(gpu).gpu;
    return fmt::format("{}@{}", model.profile_of(where).name, model.placement(where).start);
  };
  nlohmann::json stays = nlohmann::json::array(), layouts = nlohmann::json::array();
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
  out["stays"] = std::move(stays);
  out["layouts"] = std::move(layouts);
}

nlohmann::json outcome_json(const Outcome& outcome, UnixTime origin, const std::optional<EnergyPrices>& prices) {
  return {{"policy", outcome.policy},
          {"energy_j", outcome.energy_j},
          {"late_s", outcome.late_s},
          {"late_jobs", outcome.late_jobs},
          {"mean_late_s", outcome.mean_late_s},
          {"last_finish_at", unix_seconds(outcome.last_finish + origin)},
          {"jobs", outcome.jobs.size()},
          {"cost", prices ? nlohmann::json(outcome.cost(*prices)) : nlohmann::json()}};
}

nlohmann::json spread_json(const Spread& spread, UnixTime origin) {
  return {{"p10", unix_seconds(spread.p10 + origin)},
          {"p50", unix_seconds(spread.p50 + origin)},
          {"p90", unix_seconds(spread.p90 + origin)}};
}

Result<Ok> put_futures(nlohmann::json& out, const LiveFork& live, const PolicyMaker& policy, int count) {
  MemoryJournal journal;
  Outcome expected;
  SMARTMIG_TRY(const auto etas, smartmig::eta(live.fork, policy, count, 1, &journal, &expected));
  Json jobs = Json::array();
  for (std::size_t i = 0; i < etas.size(); ++i) {
    const Eta& eta = etas[i];
    if (is_phantom(live.ids[i])) continue;
    jobs.push_back({{"id", number(live.ids[i])},
                    {"expected_start_at", unix_seconds(eta.expected_start + live.origin)},
                    {"expected_finish_at", unix_seconds(eta.expected_finish + live.origin)},
                    {"start_at", count > 0 ? spread_json(eta.start, live.origin) : Json()},
                    {"finish_at", count > 0 ? spread_json(eta.finish, live.origin) : Json()},
                    {"deadline_at", eta.deadline == kNever ? Json() : Json(unix_seconds(eta.deadline + live.origin))},
                    {"on_time_ratio", count > 0 ? Json(eta.on_time_ratio) : Json()},
                    {"late_s", expected.jobs[i].late_s}});
  }
  out["outcome"] = etas.empty() ? Json() : outcome_json(expected, live.origin, live.prices);
  out["jobs"] = std::move(jobs);
  put_lanes(out, live.fork, journal.events(), live.ids, live.origin);
  return Ok{};
}

}  // namespace smartmig
