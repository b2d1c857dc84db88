// smartmig usage: joules and money of jobs that ended, by user, kind or day.
#include <fmt/format.h>

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

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
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
}

}  // namespace

int run_usage(const Arguments& arguments) {
  DaemonOptions options;
  std::string by = "user", since = "30d", until, user;
  bool csv = false;
  Command cmd("usage", "",
              "Adds up the jobs that ended: how many, their joules, compute slices times hours of their last attempts, "
              "lateness,\nand what that costs where the daemon has prices.",
              "smartmig usage --by day --since 7d --csv");
  cmd.option("--by", by, "user|kind|day", "what a line is for; a day is one of the daemon's local clock");
  cmd.option("--since", since, "WHEN", "ended no earlier: 7d ago, 2026-11-01");
  cmd.option("--until", until, "WHEN", "ended before: 1d ago, 2026-12-01; else now");
  cmd.option("--user", user, "NAME|UID", "jobs of one user").alias("-u");
  cmd.flag("--csv", csv, "print comma-separated values, without the total");
  options.declare(cmd);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  if (by != "user" && by != "kind" && by != "day") return usage_error(invalid("--by {}: one of user, kind, day", by));
  for (const char c : user)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'))
      return usage_error(invalid("'{}' is not the name of a user", user));
  const UnixTime now = unix_now();
  const auto from = past_second(since, now);
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
