#include "queue/answers/fleet_json.h"

#include "live/gpu/driver.h"
#include "mig/shape.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

Json hourly_json(const PriceCurve& curve) {
  if (curve.empty()) return Json();
  Json out = Json::array();
  for (int hour = 0; hour < 24; ++hour) out.push_back(curve.at_hour(hour));
  return out;
}

}  // namespace

Json believed_slice_json(const Cluster& cluster, GpuId gpu, PlacementId where) {
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  const Profile& profile = model.profile_of(where);
  return {{"name", slice_name(model, where)},
          {"profile", profile.name},
          {"start", model.placement(where).start},
          {"compute_slices", profile.compute_slices},
          {"memory_slices", profile.memory_slices},
          {"going", !cluster.gpu(gpu).target.contains(where)},
          {"watts_w", modelled_watts(cluster, gpu, where)}};
}

Json believed_gpu_json(const Cluster& cluster, GpuId gpu) {
  const GpuModel& model = *cluster.platform().model(gpu).gpu;
  const GpuState& state = cluster.gpu(gpu);
  return {{"index", index(gpu)},
          {"model", model.name()},
          {"layout", to_string(model, state.layout)},
          {"target", to_string(model, state.target)},
          {"compute_slices", model.compute_slices()},
          {"memory_slices", model.memory_slices()}};
}

Json objective_json(std::uint64_t jobs, double energy_j, double tardiness_s, double weight) {
  if (jobs == 0) return Json();
  const double energy_wmin = energy_j / 60;
  // A sum over jobs weighs a watt-minute by `weight`; a mean by its share of them.
  const double a = weight / double(jobs);
  const double mean_min = tardiness_s / 60 / double(jobs);
  return {{"value", (a * energy_wmin + mean_min) / (a + 1)},
          {"a_per_wmin", a},
          {"energy_j", energy_wmin * 60},
          {"mean_tardiness_s", mean_min * 60},
          {"jobs", jobs}};
}

Json prices_json(const Settings& settings) {
  const auto prices = settings.priced();
  if (!prices) return Json();
  return {{"energy_per_kwh", prices->energy_per_kwh},
          {"late_per_hour", prices->late_per_hour},
          {"energy_by_hour", hourly_json(settings.energy_by_hour)}};
}

Json power_json(const PowerSeries& power, const Settings& settings, UnixTime now, std::uint64_t since) {
  const auto prices = settings.priced();
  Json points = Json::array();
  for (const PowerSeries::Point& point : power.points()) {
    if (point.covered_s < 1 || point.minute * 60 < std::int64_t(since)) continue;
    const UnixTime at = from_unix_us(point.minute * 60'000'000);
    Json price;
    if (prices && prices->energy_per_kwh > 0)
      price = settings.energy_by_hour.empty() ? prices->energy_per_kwh : settings.energy_by_hour.at(at);
    points.push_back({{"at", point.minute * 60},
                      {"watts_w", point.watts()},
                      {"energy_j", point.joules},
                      {"energy_per_kwh", std::move(price)}});
  }
  // Prices by the hour depend on this machine's time of day, so the page is told when they change.
  Json ahead = Json::array();
  const std::int64_t hour = unix_us(now) / 3'600'000'000;
  for (std::int64_t h = hour; prices && !settings.energy_by_hour.empty() && h < hour + 48; ++h) {
    const double price = settings.energy_by_hour.at(from_unix_us(h * 3'600'000'000));
    if (ahead.empty() || ahead.back()["energy_per_kwh"].get<double>() != price)
      ahead.push_back({{"at", h * 3600}, {"energy_per_kwh", price}});
  }
  return {{"step_s", 60}, {"now_at", unix_seconds(now)}, {"points", std::move(points)}, {"ahead", std::move(ahead)}};
}

double modelled_watts(const Cluster& cluster, GpuId gpu, PlacementId where) {
  const GpuState& state = cluster.gpu(gpu);
  const JobId row = state.job_at[index(where)];
  if (row == kNoJob) return 0;
  return cluster.energy_weight(row) * state.active_per_weight;
}

}  // namespace smartmig
