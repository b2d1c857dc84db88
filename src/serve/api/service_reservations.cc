// Reservations of GPUs as the API has them.
#include <algorithm>

#include "base/json.h"
#include "base/users.h"
#include "serve/api/daemon_service.h"

namespace smartmig {
namespace {

constexpr double kLongest = 10 * 366 * 86400.0;  // seconds

Json reservations_json(Daemon& daemon) {
  Json list = Json::array();
  for (const GpuReservation& r : daemon.state().reservations.all()) {
    int running = 0, waiting = 0;
    for (const auto& [id, job] : daemon.live_jobs())
      if (job.spec.reservation == r.name) ++(is_waiting(job.status) ? waiting : running);
    Json others = Json::array();
    if (r.on(daemon.now()))
      for (const QueueId id : daemon.reservations().overruns(r)) others.push_back(number(id));
    list.push_back({{"name", r.name},
                    {"gpus", r.gpus},
                    {"begin_at", unix_seconds(r.begin)},
                    {"end_at", unix_seconds(r.end)},
                    {"users", r.users},
                    {"active", r.on(daemon.now())},
                    {"running", running},
                    {"waiting", waiting},
                    {"still_running", std::move(others)}});
  }
  return {{"reservations", std::move(list)}};
}

Result<std::string> name_in(const JsonObject& object) {
  SMARTMIG_TRY(std::string name, object.text("name"));
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
  if (name.size() > 64 || !std::all_of(name.begin(), name.end(), plain))
    return invalid("name: letters, digits, '_', '-' and '.', up to 64");
  return name;
}

Result<std::vector<std::string>> users_in(const JsonObject& object) {
  std::vector<std::string> users;
  if (!object.has("users")) return users;
  SMARTMIG_TRY(const auto words, object.texts("users"));
  for (const std::string& word : words) {
    const auto uid = uid_of(word);
    if (!uid) return invalid("users: unknown user '{}'", word);
    users.push_back(user_name(*uid));
  }
  return users;
}

struct NewReservation {
  GpuReservation reservation;
  int count = 0;
};

Result<NewReservation> read_reservation(const Json& body, UnixTime now) {
  SMARTMIG_TRY(
      const JsonObject object,
      JsonObject::open(body, "the body", "", {"name", "gpus", "count", "begin_at", "begin_s", "duration_s", "users"}));
  NewReservation out;
  GpuReservation& r = out.reservation;
  SMARTMIG_TRY(r.name, name_in(object));
  SMARTMIG_TRY(r.users, users_in(object));
  SMARTMIG_TRY(const std::int64_t count, object.integer("count", 0, 100'000, 0));
  out.count = int(count);
  if (object.has("gpus")) {
    SMARTMIG_TRY(const auto gpus, object.counts("gpus"));
    for (const std::uint64_t gpu : gpus) r.gpus.push_back(int(std::min<std::uint64_t>(gpu, 1'000'000)));
  }
  if ((out.count > 0) == !r.gpus.empty()) return invalid("name the GPUs: gpus (a list of numbers) or count");
  SMARTMIG_TRY(const double after, object.number("begin_s", 0, kLongest, 0));
  SMARTMIG_TRY(const double at, object.number("begin_at", 0, 1e11, unix_seconds(now) + after));
  SMARTMIG_TRY(const double length, object.number("duration_s", 1, kLongest));
  r.begin = UnixTime(from_seconds(at));
  r.end = r.begin + from_seconds(length);
  return out;
}

Result<Ok> reserving(const Caller& caller) {
  if (caller.operator_rights) return Ok{};
  return no_permission("only the operator (root or the daemon's user) may reserve GPUs");
}

}  // namespace

Result<Json> DaemonService::reservations(const Caller&) {
  return ask<Json>([](Daemon& d) -> Result<Json> { return reservations_json(d); });
}

Result<Json> DaemonService::reserve(const Caller& caller, const Json& body) {
  SMARTMIG_RETURN_IF_ERROR(reserving(caller));
  return ask<Json>(
      [&](Daemon& d) -> Result<Json> {
        SMARTMIG_TRY(NewReservation asked, read_reservation(body, d.now()));
        SMARTMIG_RETURN_IF_ERROR(d.reservations().add(std::move(asked.reservation), asked.count));
        return reservations_json(d);
      },
      true);
}

Result<Json> DaemonService::unreserve(const Caller& caller, const Json& body) {
  SMARTMIG_RETURN_IF_ERROR(reserving(caller));
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "the body", "", {"name"}));
  SMARTMIG_TRY(const std::string name, name_in(object));
  return ask<Json>(
      [&](Daemon& d) -> Result<Json> {
        SMARTMIG_RETURN_IF_ERROR(d.reservations().remove(name));
        return reservations_json(d);
      },
      true);
}

}  // namespace smartmig
