// smartmig group: groups of jobs, and how many of one may run at once.
#include <fmt/format.h>

#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {

int run_group(const Arguments& arguments) {
  DaemonOptions options;
  std::string name;
  std::int64_t limit = -1;
  Command cmd(
      "group", "[NAME]",
      "Shows groups of jobs (submit --group NAME) and how many jobs of each may run at once. With --limit, root can change that number.",
      "smartmig group licensed --limit 4");
  cmd.option("--limit", limit, "N", "allow at most N jobs of this group to run at once; 0: no limit");
  options.declare(cmd);
  cmd.positional(name, false);
  if (const auto end = cmd.ends(arguments)) return *end;
  const bool sets = cmd.given("--limit");
  if (sets && name.empty()) return usage_error(invalid("name a group: smartmig group NAME --limit N"));
  if (sets && (limit < 0 || limit > 1'000'000)) return usage_error(invalid("--limit must be 0 or more, not {}", limit));
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = sets ? client->post("/v1/groups", {{"name", name}, {"limit", limit}}) : client->get("/v1/groups");
  if (!answer) return failure(answer.error());
  if (options.json) {
    print_json(*answer);
    return 0;
  }
  Columns table({{"group"}, {"limit", true}, {"running", true}, {"waiting", true}});
  bool any = false;
  for (const Json& group : list_at(*answer, "groups")) {
    if (!name.empty() && text_at(group, "name") != name) continue;
    const double most = number_at(group, "limit").value_or(0);
    any = true;
    table.add({cut(text_at(group, "name"), 40), most > 0 ? fmt::format("{:.0f}", most) : "none",
               fmt::format("{:.0f}", number_at(group, "running").value_or(0)),
               fmt::format("{:.0f}", number_at(group, "waiting").value_or(0))});
  }
  if (any)
    fmt::print("{}", table.text());
  else
    fmt::print("{}\n", name.empty() ? "There are no groups." : fmt::format("Group {} has no limit and no jobs.", name));
  return 0;
}

}  // namespace smartmig::cli
