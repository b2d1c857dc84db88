#include "cli/queue/job_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "cli/queue/job_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {

void JobsMeant::declare(Command& cmd) {
  cmd.flag("--all", all, "all your jobs that have not ended");
  cmd.option("--tasks-of", array, "ID", "all tasks of this array").also("--array");
  cmd.option("--user", user, "NAME|UID", "jobs of this user; only root can change other users' jobs").alias("-u");
  cmd.flag("--everyone", everyone, "jobs of all users (root only)");
  cmd.option("--name", name, "NAME", "jobs with this name").alias("-J");
  cmd.option("--only", state, "STATE", "jobs in this state: queued, running, ...").also("--state");
  cmd.positionals(words);
}

Result<Json> JobsMeant::body(const Command& cmd, const char* verb) const {
  SMARTMIG_TRY(const auto ids, read_ids(words));
  Json out = Json::object();
  if (!ids.empty()) out["ids"] = ids;
  if (cmd.given("--tasks-of")) out["array"] = array;
  if (all && cmd.given("--all")) out["all"] = true;
  if (everyone && cmd.given("--everyone")) out["everyone"] = true;
  if (cmd.given("--user")) out["user"] = user;
  if (cmd.given("--name")) out["name"] = name;
  if (cmd.given("--only")) out["state"] = state;
  if (out.empty()) return invalid("name a job: smartmig {} JOB..., or use --all, --user, --name or --only", verb);
  return out;
}

std::string changed_words(const Json& job) {
  const std::string reason = text_at(job, "reason"),
                    state = yes_at(job, "suspended") ? "suspended" : text_at(job, "state", "?");
  if (reason.starts_with(state)) return fmt::format("job {} {}: {}", id_at(job, "id"), job_title(job), reason);
  return fmt::format("job {} {}: {}{}", id_at(job, "id"), job_title(job), state, reason.empty() ? "" : ", " + reason);
}

int change_jobs(const DaemonOptions& options, const char* verb, const Json& body,
                const std::function<std::string(const Json& job)>& words) {
  constexpr std::size_t kMostLines = 100;
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->post(fmt::format("/v1/jobs/{}", verb), body);
  if (!answer) return failure(answer.error());
  const Json &jobs = list_at(*answer, "jobs"), &refused = list_at(*answer, "refused");
  if (options.json) print_json({{"jobs", jobs}, {"refused", refused}});
  if (!options.json && jobs.size() <= kMostLines)
    for (const Json& job : jobs) fmt::print("{}\n", words(job));
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
