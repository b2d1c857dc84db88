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

int run_queue(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  std::string state, user;
  bool finished = false, all = false, ids_only = false;
  std::int64_t limit = 1000;
  Command cmd(
      "queue", "[JOB...]",
      "Shows what waits and runs: where, for how long, until when, for how many joules. Energy is attributed: the "
      "board's\ncounter shared out by the model. An estimate nobody gave is marked guess or history.",
      "smartmig queue --all --user anna");
  cmd.flag("--all", all, "finished jobs too").alias("-a");
  cmd.flag("--finished", finished, "finished jobs only, newest first");
  cmd.option("--only", state, "STATE",
             "held, queued, starting, running, stopping, done, failed, cancelled or timed_out");
  cmd.option("--user", user, "NAME|UID", "jobs of one user").alias("-u");
  cmd.option("--limit", limit, "N", "at most so many of each sort");
  cmd.flag("--ids", ids_only, "print the numbers alone, one a line");
  options.declare(cmd);
  cmd.positionals(words);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (limit < 1) return usage_error(invalid("--limit needs at least 1, not {}", limit));
  for (const char c : user + state)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'))
      return usage_error(invalid("'{}' is neither the name of a user nor a state", user + state));
  if (auto ids = read_ids(words); !ids) return usage_error(ids.error());
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto jobs = words.empty() ? asked_jobs(*client, state, user, finished, all, limit) : named_jobs(*client, words);
  if (!jobs) return failure(jobs.error());
  if (options.json) {
    print_json({{"jobs", *jobs}});
    return 0;
  }
  if (ids_only) {
    for (const Json& job : *jobs) fmt::print("{}\n", id_at(job, "id"));
    return 0;
  }
  const auto status = client->get("/v1/status");
  if (!status) return failure(status.error());
  if (jobs->empty())
    fmt::print("No jobs{}.\n",
               finished || all || !state.empty() || !words.empty() ? "" : " wait or run; --all shows finished ones");
  else
    fmt::print("{}", job_table(*jobs, unix_seconds(unix_now()), !object_at(*status, "prices").empty()));
  fmt::print("{}\n", summary_line(*status));
  if (const auto reserved = client->get("/v1/reservations"))
    fmt::print("{}", reservation_lines(*reserved, unix_seconds(unix_now())));
  return 0;
}

}  // namespace smartmig::cli
