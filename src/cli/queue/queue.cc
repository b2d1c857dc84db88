// smartmig queue: the jobs of the daemon as a table.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

std::string summary_line(const Json& status) {
  const Json& queue = object_at(status, "queue");
  std::string out;
  for (const char* state : {"running", "starting", "stopping", "queued", "held"})
    if (const double count = number_at(queue, state).value_or(0); count > 0 || *state != 's')
      out += fmt::format("{}{:.0f} {}", out.empty() ? "" : ", ", count, state);
  if (const auto watts = number_at(status, "watts_w")) out += fmt::format("; {:.0f} W now", *watts);
  const Json& energy = object_at(status, "energy");
  if (const auto attributed = number_at(energy, "attributed_j"))
    out += fmt::format("; {} attributed to jobs, {} idle", energy_words(*attributed),
                       energy_words(number_at(energy, "idle_j").value_or(0)));
  if (const std::string rough = text_at(status, "rough_watts"); !rough.empty()) out += "; " + rough;
  out += fmt::format("; policy {}", text_at(status, "policy", "?"));
  if (yes_at(status, "paused")) out += "; the queue is PAUSED";
  for (const Json& slice : list_at(status, "quarantined"))
    if (slice.is_string()) out += "\nOUT OF SERVICE: " + shown_text(slice);
  if (const std::string disk = text_at(status, "disk", "ok"); disk != "ok") out += fmt::format("; DISK: {}", disk);
  if (const std::string words = text_at(status, "shortage"); !words.empty())
    out += fmt::format("; NOTHING STARTS: {}", words);
  return out;
}

Result<Json> named_jobs(DaemonClient& client, const std::vector<std::string>& words) {
  SMARTMIG_TRY(const auto ids, read_ids(words));
  Json jobs = Json::array();
  for (const std::uint64_t id : ids) {
    SMARTMIG_TRY(Json job, client.get(fmt::format("/v1/jobs/{}", id)));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<Json> asked_jobs(DaemonClient& client, const std::string& state, const std::string& user, bool finished,
                        bool all, std::int64_t limit) {
  const std::string by_user = user.empty() ? "" : "&user=" + user;
  if (!state.empty()) return all_jobs(client, "state=" + state + by_user, std::size_t(limit));
  Json jobs = Json::array();
  if (!finished) {
    SMARTMIG_TRY(jobs, all_jobs(client, "state=active" + by_user, std::size_t(limit)));
  }
  if (finished || all) {
    SMARTMIG_TRY(const Json ended, all_jobs(client, "state=final" + by_user, std::size_t(limit)));
    for (const Json& job : ended) jobs.push_back(job);
  }
  return jobs;
}

Json of_today(const Json& jobs) {
  const double midnight = unix_seconds(midnight_before(unix_now()));
  Json out = Json::array();
  for (const Json& job : jobs)
    if (number_at(job, "ended_at").value_or(midnight) >= midnight) out.push_back(job);
  return out;
}

// GPUs that others cannot have, now or later.
std::string reservation_lines(const Json& answer, double now) {
  std::string out;
  for (const Json& one : list_at(answer, "reservations")) {
    const std::string users = comma_list(list_at(one, "users"));
    out += fmt::format("reserved: GPU {} for {}, {} to {} ({})\n", comma_list(list_at(one, "gpus")),
                       users.empty() ? "the operator" : users, clock_words(number_at(one, "begin_at").value_or(0), now),
                       clock_words(number_at(one, "end_at").value_or(0), now), text_at(one, "name"));
  }
  return out;
}

}  // namespace

namespace {

// What keeps jobs apart on the daemon's machine, one line each.
std::string isolation_lines(const Json& status) {
  std::string out;
  for (const Json& one : list_at(status, "isolates"))
    out += fmt::format("  {:<30} {}\n", text_at(one, "what"), text_at(one, "by"));
  return out.empty() ? out : "Isolation between jobs:\n" + out;
}

int show_queue(const Arguments& arguments, bool isolation) {
  DaemonOptions options;
  std::vector<std::string> words;
  std::string state, user;
  bool finished = false, all = false, ids_only = false, today = false, csv = false;
  std::int64_t limit = 1000;
  Command cmd(
      "queue", "[JOB...]",
      "Lists waiting and running jobs with their slices, times, deadlines and energy. The energy is attributed: the power model divides the board's counter among the jobs. Estimates that the user did not give are marked as guess or history.",
      "smartmig queue --all --user anna");
  cmd.flag("--all", all, "include finished jobs").alias("-a");
  cmd.flag("--today", today, "show waiting and running jobs, and those that ended today");
  cmd.flag("--finished", finished, "show only finished jobs, newest first");
  cmd.option("--only", state, "STATE",
             "held, queued, starting, running, stopping, done, failed, cancelled or timed_out")
      .also("--state");
  cmd.option("--user", user, "NAME|UID", "jobs of one user").alias("-u");
  cmd.option("--rows", limit, "N", "maximum number of jobs of each group").also("--limit");
  cmd.flag("--ids", ids_only, "print only the job numbers, one per line");
  cmd.flag("--csv", csv, "print comma-separated values with the field names of the JSON");
  options.declare(cmd);
  cmd.positionals(words);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (limit < 1) return usage_error(invalid("--rows must be at least 1, not {}", limit));
  for (const char c : user + state)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'))
      return usage_error(invalid("'{}' is neither a user name nor a state", user + state));
  if (auto ids = read_ids(words); !ids) return usage_error(ids.error());
  auto client = options.connect();
  if (!client) return failure(client.error());
  auto jobs =
      words.empty() ? asked_jobs(*client, state, user, finished, all || today, limit) : named_jobs(*client, words);
  if (!jobs) return failure(jobs.error());
  if (today) jobs = of_today(*jobs);
  if (options.json) {
    print_json({{"jobs", *jobs}});
    return 0;
  }
  if (ids_only) {
    for (const Json& job : *jobs) fmt::print("{}\n", id_at(job, "id"));
    return 0;
  }
  if (csv) {
    fmt::print("{}", job_csv(*jobs));
    return 0;
  }
  const auto status = client->get("/v1/status");
  if (!status) return failure(status.error());
  if (jobs->empty())
    fmt::print("No jobs{}.\n", finished || all || today || !state.empty() || !words.empty()
                                   ? ""
                                   : " are waiting or running; --all also shows finished ones");
  else
    fmt::print("{}", job_table(*jobs, unix_seconds(unix_now()), !object_at(*status, "prices").empty()));
  fmt::print("{}\n", summary_line(*status));
  if (const auto reserved = client->get("/v1/reservations"))
    fmt::print("{}", reservation_lines(*reserved, unix_seconds(unix_now())));
  if (isolation) fmt::print("{}", isolation_lines(*status));
  return 0;
}

}  // namespace

int run_queue(const Arguments& arguments) { return show_queue(arguments, false); }

int run_status(const Arguments& arguments) { return show_queue(arguments, true); }

}  // namespace smartmig::cli
