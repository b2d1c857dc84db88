// The meter's state as JSON, for the store. Strict: a key too many or too few, a wrong type or a number out of range is
// refused by name.
#include "base/json.h"
#include "live/energy/energy_meter.h"

namespace smartmig {
namespace {

constexpr int kVersion = 1;
constexpr double kMostJoules = 1e15;
constexpr std::int64_t kMostMicroseconds = 100'000'000'000'000'000;

constexpr const char* kName = "state of the energy meter";

Result<std::optional<double>> maybe_number(const JsonObject& object, const char* key) {
  if (!object.has(key)) return std::optional<double>{};
  SMARTMIG_TRY(const double value, object.number(key, 0, kMostJoules));
  return std::optional<double>(value);
}

Result<UnixTime> time(const JsonObject& object, const char* key) {
  SMARTMIG_TRY(const std::int64_t us, object.integer(key, -kMostMicroseconds, kMostMicroseconds));
  return from_unix_us(us);
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
                      {"since_us", unix_us(run.since)},
                      {"until_us", run.until ? Json(unix_us(*run.until)) : Json(nullptr)}});
    boards.push_back({{"uuid", uuid},
                      {"begun", b.begun_},
                      {"at_us", unix_us(b.last_)},
                      {"counter_j", maybe(b.counter_)},
                      {"counter_at_us", unix_us(b.counter_at_)},
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
  return json_dump(Json{{"smartmig_energy", kVersion}, {"boards", std::move(boards)}});
}

Result<Ok> EnergyMeter::restore(std::string_view text) {
  SMARTMIG_TRY(const Json json, parse_json(kName, text));
  SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, kName, "", {"smartmig_energy", "boards"}));
  SMARTMIG_TRY(const std::int64_t version, root.integer("smartmig_energy", 0, INT32_MAX));
  if (version != kVersion)
    return invalid("{}: has version {}, but this program reads only version {}", kName, version, kVersion);
  SMARTMIG_TRY(const Json* rows, root.list("boards"));
  std::map<std::string, BoardMeter> boards;
  for (const Json& entry : *rows) {
    SMARTMIG_TRY(const JsonObject row, JsonObject::open(entry, kName, fmt::format("boards[{}]", boards.size()),
                                                        {"uuid", "begun", "at_us", "counter_j", "counter_at_us",
                                                         "power_w", "provisional_j", "totals_j", "jobs"}));
    SMARTMIG_TRY(const std::string uuid, row.any_text("uuid"));
    BoardMeter meter{BoardMeter::Options{}};
    SMARTMIG_TRY(meter.begun_, row.yes_or_no("begun"));
    meter.restored_ = meter.begun_;
    SMARTMIG_TRY(meter.last_, time(row, "at_us"));
    SMARTMIG_TRY(meter.counter_at_, time(row, "counter_at_us"));
    SMARTMIG_TRY(meter.counter_, maybe_number(row, "counter_j"));
    SMARTMIG_TRY(meter.power_, maybe_number(row, "power_w"));
    SMARTMIG_TRY(meter.provisional_j_, row.number("provisional_j", 0, kMostJoules));
    if (!row.has("totals_j")) return row.error("totals_j", "is missing");
    SMARTMIG_TRY(const JsonObject totals,
                 JsonObject::open(*row.find("totals_j"), kName, row.path("totals_j"),
                                  {"counter", "power_integral", "model", "jobs", "idle", "unattributed"}));
    const std::pair<const char*, double*> fields[] = {{"counter", &meter.totals_.by_source_j[0]},
                                                      {"power_integral", &meter.totals_.by_source_j[1]},
                                                      {"model", &meter.totals_.by_source_j[2]},
                                                      {"jobs", &meter.totals_.jobs_j},
                                                      {"idle", &meter.totals_.idle_j},
                                                      {"unattributed", &meter.totals_.unattributed_j}};
    for (const auto& [key, value] : fields) {
      SMARTMIG_TRY(*value, totals.number(key, -kMostJoules, kMostJoules));
    }
    SMARTMIG_TRY(const Json* jobs, row.list("jobs"));
    for (const Json& one : *jobs) {
      SMARTMIG_TRY(const JsonObject job,
                   JsonObject::open(one, kName, row.path(fmt::format("jobs[{}]", meter.runs_.size())),
                                    {"id", "weight", "since_us", "until_us"}));
      SMARTMIG_TRY(const std::int64_t id, job.integer("id", 0, INT64_MAX));
      BoardMeter::Run run;
      SMARTMIG_TRY(run.weight, job.number("weight", 0, 1e9));
      SMARTMIG_TRY(run.since, time(job, "since_us"));
      if (job.has("until_us")) {
        SMARTMIG_TRY(run.until, time(job, "until_us"));
      }
      if (!meter.runs_.emplace(std::uint64_t(id), run).second) return job.error("id", "is there twice");
    }
    if (!boards.emplace(uuid, std::move(meter)).second) return row.error("uuid", "is there twice");
  }
  boards_ = std::move(boards);
  return Ok{};
}

}  // namespace smartmig
