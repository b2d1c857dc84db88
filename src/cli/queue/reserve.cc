// smartmig reserve: GPUs that are kept for some users for a time.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/queue/submit_values.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

struct ReserveFlags {
  std::string gpus, from, length, users;
  std::int64_t count = 0;
};

Result<Json> new_reservation(const std::string& name, const ReserveFlags& flags) {
  Json body = {{"name", name}};
  if (!flags.gpus.empty()) {
    body["gpus"] = Json::array();
    for (const std::string_view word : split(flags.gpus, ',')) {
      SMARTMIG_TRY(const int gpu, whole_number(word, 0, 100'000));
      body["gpus"].push_back(gpu);
    }
  }
  if (flags.count > 0) body["count"] = flags.count;
  if (body.contains("gpus") == body.contains("count")) return invalid("name the GPUs: --gpus 0,1 or --count 2");
  if (!flags.from.empty() && flags.from != "now") {
    SMARTMIG_TRY(const When when, read_when(flags.from, Dialect::kSmartmig, unix_now()));
    if (when.from_now)
      body["begin_s"] = seconds(*when.from_now);
    else
      body["begin_at"] = unix_seconds(*when.at);
  }
  if (flags.length.empty()) return invalid("give a duration: --duration 2h");
  SMARTMIG_TRY(const Time length, read_duration(flags.length, std::chrono::minutes(1)));
  body["duration_s"] = seconds(length);
  if (!flags.users.empty()) {
    body["users"] = Json::array();
    for (const std::string_view user : split(flags.users, ',')) body["users"].push_back(std::string(user));
  }
  return body;
}

std::string reservation_table(const Json& answer) {
  Columns table({{"name"}, {"gpus"}, {"from"}, {"until"}, {"users"}, {"state"}, {"running", true}, {"waiting", true}});
  const double now = unix_seconds(unix_now());
  std::string notes;
  for (const Json& one : list_at(answer, "reservations")) {
    const auto time = [&](const char* key) { return clock_words(number_at(one, key).value_or(0), now); };
    table.add({text_at(one, "name"), comma_list(list_at(one, "gpus")), time("begin_at"), time("end_at"),
               list_at(one, "users").empty() ? "operator" : comma_list(list_at(one, "users")),
               one.value("active", false) ? "active" : "to come",
               fmt::format("{:.0f}", number_at(one, "running").value_or(0)),
               fmt::format("{:.0f}", number_at(one, "waiting").value_or(0))});
    if (const Json others = list_at(one, "still_running"); !others.empty())
      notes +=
          fmt::format("Other users' jobs are still running in {}: {}.\n", text_at(one, "name"), comma_list(others));
  }
  return table.text() + notes;
}

}  // namespace

int run_reserve(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  ReserveFlags flags;
  Command cmd(
      "reserve", "[add NAME|remove NAME|list]",
      "Reserves GPUs for some users for a period. Only jobs that these users submit with --reservation NAME run on the GPUs during that time. smartmig does not start other jobs there that would still be running when the reservation begins, and it never stops running jobs. Without --users, the reservation is for the operator, for example for maintenance. Only root can add and remove reservations.",
      "smartmig reserve add course --gpus 0,1 --begin 14:00 --duration 2h --users anna,ben");
  cmd.option("--gpus", flags.gpus, "LIST", "GPUs to reserve, such as 0,1");
  cmd.option("--count", flags.count, "N", "number of GPUs to reserve, whichever are free at that time");
  cmd.option("--begin", flags.from, "WHEN",
             "beginning, such as 2h (from now), 16:00 or 2026-11-15T16:00 (default: now)")
      .also("--from");
  cmd.option("--duration", flags.length, "TIME", "length of the reservation, such as 2h").also("--for");
  cmd.option("--users", flags.users, "LIST", "users who may run jobs there, such as anna,ben");
  options.declare(cmd);
  cmd.positionals(words);
  if (const auto end = cmd.ends(arguments)) return *end;
  const std::string verb = words.empty() ? "list" : words[0];
  if (verb != "list" && verb != "add" && verb != "remove")
    return usage_error(invalid("'{}' is not add, remove or list", verb));
  if (words.size() != (verb == "list" ? std::min<std::size_t>(words.size(), 1) : 2))
    return usage_error(invalid("smartmig reserve {}", verb == "list" ? "list takes no name" : verb + " NAME"));
  Json body;
  if (verb == "add") {
    auto made = new_reservation(words[1], flags);
    if (!made) return usage_error(made.error());
    body = std::move(*made);
  }
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = verb == "list"  ? client->get("/v1/reservations")
                      : verb == "add" ? client->post("/v1/reservations", body)
                                      : client->post("/v1/reservations/remove", {{"name", words[1]}});
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else if (list_at(*answer, "reservations").empty())
    fmt::print("No GPU is reserved.\n");
  else
    fmt::print("{}", reservation_table(*answer));
  return 0;
}

}  // namespace smartmig::cli
