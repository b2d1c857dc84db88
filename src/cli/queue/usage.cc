// smartmig usage: joules and money of jobs that ended, by user, group, project, kind or day, and this week's quotas.
#include <fmt/format.h>

#include <cmath>

#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/queue/submit_values.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

// "7d" is that long ago; else an instant.
Result<std::int64_t> past_second(std::string_view text, UnixTime now) {
  SMARTMIG_TRY(const When when, read_when(text, Dialect::kSmartmig, now));
  const UnixTime at = when.from_now ? now - *when.from_now : *when.at;
  return std::max<std::int64_t>(0, unix_us(at) / 1'000'000);
}

void print_csv(const Json& answer) {
  fmt::print("{},jobs,done,energy_j,slice_hours,late_s,cost\n", text_at(answer, "by"));
  for (const Json& row : list_at(answer, "rows")) {
    const auto cost = number_at(row, "cost");
    fmt::print("{},{:.0f},{:.0f},{:.3f},{:.6f},{:.3f},{}\n", csv_text(text_at(row, "key")),
               number_at(row, "jobs").value_or(0), number_at(row, "done").value_or(0),
               number_at(row, "energy_j").value_or(0), number_at(row, "slice_s").value_or(0) / 3600,
               number_at(row, "late_s").value_or(0), cost ? fmt::format("{:.6f}", *cost) : "");
  }
}

// What this week has used of each quota: "3.2 of 40".
void print_quotas(const Json& answer) {
  const Json& rows = list_at(answer, "quotas");
  if (rows.empty()) return;
  const auto share = [](const Json& row, const char* used, const char* quota, auto words) {
    const auto limit = number_at(row, quota);
    const std::string has = words(number_at(row, used).value_or(0));
    return limit ? fmt::format("{} of {}", has, words(*limit)) : has;
  };
  const auto plain = [](double x) { return fmt::format("{:g}", std::round(x * 10) / 10); };
  Columns table({{text_at(answer, "by") + ", this week"}, {"slices", true}, {"GPU-hours", true}, {"energy", true}});
  for (const Json& row : rows)
    table.add({cut(text_at(row, "name"), 40), share(row, "slices", "quota_slices", plain),
               share(row, "gpu_hours", "quota_gpu_hours", plain),
               share(row, "energy_j", "quota_energy_j", energy_words)});
  fmt::print("\n{}", table.text());
}

void print_table(const Json& answer) {
  const bool priced = number_at(object_at(answer, "total"), "cost").has_value();
  std::vector<Columns::Head> heads = {{text_at(answer, "by")},       {"jobs", true},        {"done", true},
                                      {"energy (attributed)", true}, {"slice hours", true}, {"late", true}};
  if (priced) heads.push_back({"cost", true});
  Columns table(heads);
  const auto add = [&](const Json& row) {
    const std::string key = text_at(row, "key");
    const double late = number_at(row, "late_s").value_or(0);
    std::vector<std::string> cells = {key.empty() ? "(none)" : cut(key, 40),
                                      fmt::format("{:.0f}", number_at(row, "jobs").value_or(0)),
                                      fmt::format("{:.0f}", number_at(row, "done").value_or(0)),
                                      energy_words(number_at(row, "energy_j").value_or(0)),
                                      fmt::format("{:.2f}", number_at(row, "slice_s").value_or(0) / 3600),
                                      late > 0 ? duration_words(late) : "-"};
    if (priced) cells.push_back(cost_words(number_at(row, "cost").value_or(0)));
    table.add(std::move(cells));
  };
  for (const Json& row : list_at(answer, "rows")) add(row);
  add(object_at(answer, "total"));
  fmt::print("{}", table.text());
  print_quotas(answer);
}

}  // namespace

int run_usage(const Arguments& arguments) {
  DaemonOptions options;
  std::string by = "user", since = "30d", until, user;
  bool csv = false, today = false;
  Command cmd(
      "usage", "",
      "Sums up ended jobs: their number, joules, slice-hours of the last attempts, lateness and, if the daemon has prices, cost.",
      "smartmig usage --by day --since 7d --csv");
  cmd.option(
      "--by", by, "user|group|project|kind|day",
      "sum up by user, Unix group, project, kind or day (local time of the daemon); with quotas, also this week's usage");
  cmd.option("--since", since, "WHEN", "jobs that ended after this time, such as 7d (ago) or 2026-11-01");
  cmd.flag("--today", today, "jobs that ended since midnight, instead of --since");
  cmd.option("--until", until, "WHEN",
             "jobs that ended before this time, such as 1d (ago) or 2026-12-01 (default: now)");
  cmd.option("--user", user, "NAME|UID", "jobs of one user").alias("-u");
  cmd.flag("--csv", csv, "print comma-separated values, without the total");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (by != "user" && by != "group" && by != "project" && by != "kind" && by != "day")
    return usage_error(invalid("--by must be user, group, project, kind or day, not {}", by));
  for (const char c : user)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'))
      return usage_error(invalid("'{}' is not a user name", user));
  const UnixTime now = unix_now();
  if (today && cmd.given("--since")) return usage_error(invalid("give either --today or --since, not both"));
  const auto from = today ? Result<std::int64_t>(unix_us(midnight_before(now)) / 1'000'000) : past_second(since, now);
  if (!from) return usage_error(from.error());
  std::string question = fmt::format("/v1/usage?by={}&since={}", by, *from);
  if (!until.empty()) {
    const auto to = past_second(until, now);
    if (!to) return usage_error(to.error());
    question += fmt::format("&until={}", *to);
  }
  if (!user.empty()) question += "&user=" + user;
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->get(question);
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else if (csv)
    print_csv(*answer);
  else
    print_table(*answer);
  return 0;
}

}  // namespace smartmig::cli
