// What is believed of a command, and how far off that was (history.h).
#include <cmath>

#include "base/json.h"
#include "base/math.h"
#include "serve/api/daemon_service.h"
#include "serve/api/service_rules.h"

namespace smartmig {
namespace {

Json size_json(int compute_slices, const SizeForecast& size) {
  return {{"compute_slices", compute_slices},
          {"s", size.s},
          {"low_s", size.low_s},
          {"high_s", size.high_s},
          {"runs", size.runs},
          {"watts_w", size.watts < 0 ? Json() : Json(size.watts)}};
}

Json run_json(const PredictedRun& run) {
  return {{"compute_slices", run.slices},
          {"ran_s", run.ran_s},
          {"predicted_s", run.predicted_s < 0 ? Json() : Json(run.predicted_s)},
          {"load", run.load},
          {"watts_w", run.watts < 0 ? Json() : Json(run.watts)},
          {"ended_at", unix_seconds(run.ended)},
          {"before_change", run.before_change}};
}

// Of the last predictions: the mean factor between what was predicted and what it took, less 1.
Json mean_error(const std::vector<PredictedRun>& runs) {
  double sum = 0;
  int count = 0;
  for (const PredictedRun& run : runs)
    if (run.predicted_s > 0) sum += std::abs(deterministic_log(run.ran_s / run.predicted_s)), ++count;
  return count == 0 ? Json() : Json(deterministic_exp(sum / count) - 1);
}

Json history_json(const Estimates::Known& known, const GpuModel& gpu) {
  Json sizes = Json::array(), last = Json::array();
  for (int k = 1; known.forecast.whole_s && k <= known.of; ++k)
    for (const Profile& profile : gpu.profiles())
      if (profile.compute_slices == k && profile.variant == Variant::kPlain) {
        sizes.push_back(size_json(k, known.forecast.sizes[std::size_t(k - 1)]));
        sizes.back()["profile"] = profile.name;
      }
  for (const PredictedRun& run : known.last) last.push_back(run_json(run));
  return {{"signature", known.key.signature},
          {"runs", known.forecast.runs},
          {"borrowed_runs", known.forecast.borrowed},
          {"changes", known.changes},
          {"launch_s", known.forecast.whole_s ? Json(known.forecast.launch_s) : Json()},
          {"slowdown", known.shared_board ? Json(deterministic_exp(known.forecast.log_slowdown)) : Json()},
          {"mem_mib", known.forecast.mem_mib ? Json(*known.forecast.mem_mib) : Json()},
          {"sizes", std::move(sizes)},
          {"last", std::move(last)},
          {"mean_error", mean_error(known.last)}};
}

}  // namespace

Result<Service::Json> DaemonService::history_of_job(const Caller& caller, std::uint64_t id) {
  SMARTMIG_TRY(const JobRecord job, record(id));
  if (!may_touch(caller, job)) return not_yours(id);
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    DaemonState& state = d.state();
    return history_json(state.estimates.known_of(job), *state.session.platform().models()[0].gpu);
  });
}

Result<Service::Json> DaemonService::history_of_command(const Caller&, const Json& body) {
  SMARTMIG_TRY(const JsonObject asked, JsonObject::open(body, "the question", "", {"command", "kind"}));
  SMARTMIG_TRY(const std::vector<std::string> command, asked.texts("command"));
  SMARTMIG_TRY(const std::string kind, asked.text("kind", ""));
  if (command.empty()) return asked.error("command", "is empty; name a command");
  return ask<Json>([&](Daemon& d) -> Result<Json> {
    DaemonState& state = d.state();
    return history_json(state.estimates.known_of(key_of(shown_command(command)), kind),
                        *state.session.platform().models()[0].gpu);
  });
}

}  // namespace smartmig
