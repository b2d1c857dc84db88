#include "cli/queue/job_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "cli/queue/job_words.h"
#include "cli/verbs.h"
#include "serve/http/http_types.h"

namespace smartmig::cli {

void JobsMeant::declare(Command& cmd) {
  cmd.flag("--all", all, "all your jobs that are not final");
  cmd.option("--array", array, "ID", "every task of this array");
  cmd.option("--user", user, "NAME|UID", "of this user's jobs; others' are root's to change").alias("-u");
  cmd.flag("--everyone", everyone, "of all users' jobs, for root");
  cmd.option("--name", name, "NAME", "jobs of this name").alias("-J");
  cmd.option("--state", state, "STATE", "jobs in this state: queued, running, ...");
  cmd.positionals(words);
}

Result<Json> JobsMeant::body(const Command& cmd, const char* verb) const {
  SMARTMIG_TRY(const auto ids, read_ids(words));
  Json out = Json::object();
  if (!ids.empty()) out["ids"] = ids;
  if (cmd.given("--array")) out["array"] = array;
  if (all && cmd.given("--all")) out["all"] = true;
  if (everyone && cmd.given("--everyone")) out["everyone"] = true;
  if (cmd.given("--user")) out["user"] = user;
  if (cmd.given("--name")) out["name"] = name;
  if (cmd.given("--state")) out["state"] = state;
  if (out.empty()) return invalid("which job? smartmig {} JOB..., or --all, --user, --name, --state", verb);
  return out;
}

std::string changed_words(const Json& job) {
  const std::string reason = text_at(job, "reason"),
                    state = yes_at(job, "suspended") ? "suspended" : text_at(job, "state", "?");
  if (reason.starts_with(state)) return fmt::format("job {} {}: {}", id_at(job, "id"), job_title(job), reason);
  return fmt::format("job {} {}: {}{}", id_at(job, "id"), job_title(job), state, reason.empty() ? "" : ", " + reason);
}

int change_jobs(const DaemonOptions& options, const char* verb, const Json& body) {
  constexpr std::size_t kMostLines = 100;
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->post(fmt::format("/v1/jobs/{}", verb), body);
  if (!answer) return failure(answer.error());
  const Json &jobs = list_at(*answer, "jobs"), &refused = list_at(*answer, "refused");
  if (options.json) print_json(jobs);
  if (!options.json && jobs.size() <= kMostLines)
    for (const Json& job : jobs) fmt::print("{}\n", changed_words(job));
  if (!options.json && jobs.size() > kMostLines) {
    std::map<std::string, std::size_t> states;
    for (const Json& job : jobs) ++states[text_at(job, "state", "?")];
    for (const auto& [state, count] : states) fmt::print("{} jobs: {}\n", count, state);
  }
  int code = 0;
  for (std::size_t i = 0; i < std::min(kMostLines, refused.size()); ++i)
    code = failure({error_code(text_at(refused[i], "code")), text_at(refused[i], "message", "refused")});
  if (refused.size() > kMostLines) failure(busy_error("and {} more were refused", refused.size() - kMostLines));
  if (jobs.empty() && refused.empty() && !options.json) fmt::print("No such job is active.\n");
  return code;
}

}  // namespace smartmig::cli
