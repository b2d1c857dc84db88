// The meter's state as JSON, for the store. Strict: a key too many or too few, a wrong type or a number out of range is
// refused by name.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "live/energy/energy_meter.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;
constexpr int kVersion = 1;
constexpr double kMostJoules = 1e15;
constexpr std::int64_t kMostMicroseconds = 100'000'000'000'000'000;

Error wrong(const std::string& path, std::string_view what) {
  return invalid("state of the energy meter: {} {}", path, what);
}

Result<Ok> has_keys(const Json& object, const std::string& path, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return wrong(path, "must be an object");
  for (const char* key : keys)
    if (!object.contains(key)) return wrong(path + "." + key, "is missing");
  for (const auto& item : object.items())
    if (std::none_of(keys.begin(), keys.end(), [&](const char* key) { return item.key() == key; }))
      return wrong(path + "." + item.key(), "is not known");
  return Ok{};
}

Result<double> number(const Json& object, const char* key, const std::string& path, double low, double high) {
  const Json& value = object[key];
  if (!value.is_number()) return wrong(path + "." + key, "must be a number");
  const double out = value.get<double>();
  if (!(out >= low && out <= high)) return wrong(path + "." + key, "is out of range");
  return out;
}

Result<std::optional<double>> maybe_number(const Json& object, const char* key, const std::string& path) {
  if (object[key].is_null()) return std::optional<double>{};
  SMARTMIG_TRY(const double value, number(object, key, path, 0, kMostJoules));
  return std::optional<double>(value);
}

Result<Time> time(const Json& object, const char* key, const std::string& path) {
  const Json& value = object[key];
  if (!value.is_number_integer()) return wrong(path + "." + key, "must be whole microseconds");
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(kMostMicroseconds);
  if (huge || std::abs(value.get<std::int64_t>()) > kMostMicroseconds)
    return wrong(path + "." + key, "is out of range");
  return Time(value.get<std::int64_t>());
}

}  // namespace

std::string EnergyMeter::state() const {
  const auto maybe = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json boards = Json::array();
  for (const auto& [uuid, b] : boards_) {
    Json jobs = Json::array();
    for (const auto& [job, run] : b.runs_)
      jobs.push_back({{"id", job},
                      {"weight", run.weight},
                      {"since_us", run.since.count()},
                      {"until_us", run.until ? Json(run.until->count()) : Json(nullptr)}});
    boards.push_back({{"uuid", uuid},
                      {"begun", b.begun_},
                      {"at_us", b.last_.count()},
                      {"counter_j", maybe(b.counter_)},
                      {"counter_at_us", b.counter_at_.count()},
                      {"power_w", maybe(b.power_)},
                      {"provisional_j", b.provisional_j_},
                      {"totals_j",
                       {{"counter", b.totals_.by_source_j[0]},
                        {"power_integral", b.totals_.by_source_j[1]},
                        {"model", b.totals_.by_source_j[2]},
                        {"jobs", b.totals_.jobs_j},
                        {"idle", b.totals_.idle_j},
                        {"unattributed", b.totals_.unattributed_j}}},
                      {"jobs", std::move(jobs)}});
  }
  return Json{{"smartmig_energy", kVersion}, {"boards", std::move(boards)}}.dump(-1, ' ', false,
                                                                                 Json::error_handler_t::replace);
}

Result<Ok> EnergyMeter::restore(std::string_view text) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return invalid("state of the energy meter: not valid JSON");
  SMARTMIG_RETURN_IF_ERROR(has_keys(root, "root", {"smartmig_energy", "boards"}));
  if (root["smartmig_energy"] != kVersion)
    return invalid("state of the energy meter: version {} is not known, this program reads {}",
                   root["smartmig_energy"].dump(-1, ' ', false, Json::error_handler_t::replace), kVersion);
  if (!root["boards"].is_array()) return wrong("boards", "must be a list");
  std::map<std::string, BoardMeter> boards;
  for (std::size_t i = 0; i < root["boards"].size(); ++i) {
    const Json& row = root["boards"][i];
    const std::string path = fmt::format("boards[{}]", i);
    SMARTMIG_RETURN_IF_ERROR(has_keys(
        row, path,
        {"uuid", "begun", "at_us", "counter_j", "counter_at_us", "power_w", "provisional_j", "totals_j", "jobs"}));
    if (!row["uuid"].is_string()) return wrong(path + ".uuid", "must be a text");
    if (!row["begun"].is_boolean()) return wrong(path + ".begun", "must be true or false");
    BoardMeter meter{BoardMeter::Options{}};
    meter.begun_ = meter.restored_ = row["begun"].get<bool>();
    SMARTMIG_TRY(meter.last_, time(row, "at_us", path));
    SMARTMIG_TRY(meter.counter_at_, time(row, "counter_at_us", path));
    SMARTMIG_TRY(meter.counter_, maybe_number(row, "counter_j", path));
    SMARTMIG_TRY(meter.power_, maybe_number(row, "power_w", path));
    SMARTMIG_TRY(meter.provisional_j_, number(row, "provisional_j", path, 0, kMostJoules));
    const Json& totals = row["totals_j"];
    const std::string there = path + ".totals_j";
    SMARTMIG_RETURN_IF_ERROR(
        has_keys(totals, there, {"counter", "power_integral", "model", "jobs", "idle", "unattributed"}));
    const std::pair<const char*, double*> fields[] = {{"counter", &meter.totals_.by_source_j[0]},
                                                      {"power_integral", &meter.totals_.by_source_j[1]},
                                                      {"model", &meter.totals_.by_source_j[2]},
                                                      {"jobs", &meter.totals_.jobs_j},
                                                      {"idle", &meter.totals_.idle_j},
                                                      {"unattributed", &meter.totals_.unattributed_j}};
    for (const auto& [key, value] : fields) {
      SMARTMIG_TRY(*value, number(totals, key, there, -kMostJoules, kMostJoules));
    }
    if (!row["jobs"].is_array()) return wrong(path + ".jobs", "must be a list");
    for (std::size_t j = 0; j < row["jobs"].size(); ++j) {
      const Json& entry = row["jobs"][j];
      const std::string job_path = fmt::format("{}.jobs[{}]", path, j);
      SMARTMIG_RETURN_IF_ERROR(has_keys(entry, job_path, {"id", "weight", "since_us", "until_us"}));
      if (!entry["id"].is_number_unsigned()) return wrong(job_path + ".id", "must be a whole number");
      BoardMeter::Run run;
      SMARTMIG_TRY(run.weight, number(entry, "weight", job_path, 0, 1e9));
      SMARTMIG_TRY(run.since, time(entry, "since_us", job_path));
      if (!entry["until_us"].is_null()) {
        SMARTMIG_TRY(run.until, time(entry, "until_us", job_path));
      }
      if (!meter.runs_.emplace(entry["id"].get<std::uint64_t>(), run).second)
        return wrong(job_path + ".id", "is there twice");
    }
    if (!boards.emplace(row["uuid"].get<std::string>(), std::move(meter)).second)
      return wrong(path + ".uuid", "is there twice");
  }
  boards_ = std::move(boards);
  return Ok{};
}

}  // namespace smartmig
