#include "serve/api/job_choice.h"

#include <algorithm>

#include "base/json.h"
#include "base/users.h"
#include "http/api_routes.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostNamed = 100'000;

bool is_final_state(const std::string& state) {
  for (int s = 0; s < kJobStatuses; ++s)
    if (state == name_of(JobStatus(s))) return is_final(JobStatus(s));
  return state == "final";
}

Result<std::string> text_of(const JsonObject& object, const char* key) {
  const Json* value = object.find(key);
  if (!value) return std::string();
  return object.text_in(*value, key);
}

Result<Ok> read_filter(JobChoice& choice, const Caller& caller, const JsonObject& object) {
  SMARTMIG_TRY(const std::string user, text_of(object, "user"));
  SMARTMIG_TRY(const bool everyone, object.yes_or_no("everyone", false));
  SMARTMIG_TRY(choice.name, text_of(object, "name"));
  SMARTMIG_TRY(choice.state, text_of(object, "state"));
  SMARTMIG_TRY(const double since, object.number("since_at", 0, kMaxSeconds, 0));
  choice.since = UnixTime(from_seconds(since));
  const auto& known = job_states();
  if (!choice.state.empty() && std::find(known.begin(), known.end(), choice.state) == known.end())
    return invalid("state={}: must be one of {}", choice.state, fmt::join(known, ", "));
  choice.uid = caller.uid;
  if (!user.empty()) {
    SMARTMIG_TRY(choice.uid, uid_of(user));
  }
  if (everyone) choice.uid.reset();
  if (choice.uid != caller.uid && !caller.operator_rights)
    return no_permission("only the operator (root or the daemon's user) may change jobs of other users");
  return Ok{};
}

}  // namespace

Result<JobChoice> read_job_choice(const Caller& caller, const Json& body, const std::vector<std::string>& more_keys) {
  std::vector<std::string> keys = {"ids", "array", "all", "user", "everyone", "name", "state", "since_at"};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  SMARTMIG_TRY(const JsonObject object, JsonObject::open(body, "the body", "", keys));
  JobChoice choice;
  if (object.has("ids")) {
    SMARTMIG_TRY(choice.ids, object.counts("ids"));
    if (choice.ids.size() > kMostNamed) return invalid("ids: at most {} at once", kMostNamed);
  }
  SMARTMIG_TRY(const std::int64_t array, object.integer("array", 1, INT64_MAX, 0));
  choice.array = std::uint64_t(array);
  SMARTMIG_TRY(const bool all, object.yes_or_no("all", false));
  choice.filtered = all || object.has("user") || object.has("name") || object.has("state") || object.has("everyone");
  if (choice.filtered) SMARTMIG_RETURN_IF_ERROR(read_filter(choice, caller, object));
  if (choice.ids.empty() && choice.array == 0 && !choice.filtered)
    return invalid(
        "name the jobs: {{\"ids\":[7, 8]}}, {{\"array\":7}}, {{\"all\":true}}, or \"user\", "
        "\"name\" and \"state\"");
  return choice;
}

Result<Ok> find_ended(JobChoice& choice, Store& store) {
  if (!choice.filtered || !is_final_state(choice.state)) return Ok{};
  StoreFind find;
  find.uid = choice.uid;
  find.final = true;
  find.newest_first = true;
  for (int s = 0; s < kJobStatuses; ++s)
    if (choice.state == name_of(JobStatus(s))) find.status = s;
  for (;;) {
    SMARTMIG_TRY(const auto rows, store.find(find));
    for (const JobRow& row : rows) {
      find.after = row.id;
      if (from_unix_us(row.ended_us) < choice.since) continue;
      SMARTMIG_TRY(const JobRecord job, from_row(row));
      if (choice.name.empty() || title(job) == choice.name) choice.ids.push_back(row.id);
    }
    if (rows.size() < std::size_t(find.limit)) return Ok{};
  }
}

bool means_entering(const JobChoice& choice, const JobRecord& next, std::size_t tasks) {
  if (choice.array > 0 && number(next.array.id) == choice.array) return true;
  if (choice.filtered && !is_final_state(choice.state) && (!choice.uid || *choice.uid == next.owner.uid) &&
      (choice.name.empty() || choice.name == title(next)))
    return true;
  const std::uint64_t first = number(next.id);
  return std::any_of(choice.ids.begin(), choice.ids.end(),
                     [&](std::uint64_t id) { return first <= id && id - first < tasks; });
}

std::vector<QueueId> chosen_jobs(const JobChoice& choice, const Daemon& daemon) {
  std::set<QueueId, std::greater<>> chosen;
  for (const std::uint64_t id : choice.ids) chosen.insert(QueueId(id));
  const auto all = [&] { return std::vector<QueueId>(chosen.begin(), chosen.end()); };
  if (choice.array == 0 && !choice.filtered) return all();
  const bool any_state = choice.state.empty() || choice.state == "active";
  for (const auto& [id, job] : daemon.live_jobs()) {
    const bool meant = choice.filtered && (!choice.uid || *choice.uid == job.owner.uid) &&
                       (choice.name.empty() || choice.name == title(job)) &&
                       (any_state || choice.state == name_of(job.status));
    if (meant || (choice.array > 0 && number(job.array.id) == choice.array)) chosen.insert(id);
  }
  return all();
}

}  // namespace smartmig
