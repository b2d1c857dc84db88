// smartmig history: what the daemon has learned of a command, size by size, and how far off its predictions were.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

std::string precise_words(double s) { return s < 100 ? fmt::format("{:.1f} s", s) : duration_words(s); }

std::string watts_words(const Json& object) {
  const auto watts = number_at(object, "watts_w");
  return watts ? fmt::format("{:.0f} W", *watts) : "-";
}

std::string off_words(double ran_s, double predicted_s) {
  return fmt::format("{:+.0f} %", 100 * (ran_s / predicted_s - 1));
}

void print_sizes(const Json& history) {
  Columns table({{"size"}, {"takes", true}, {"80 % of runs"}, {"runs", true}, {"watts above idle", true}});
  for (const Json& size : list_at(history, "sizes"))
    table.add({text_at(size, "profile", "?"), precise_words(number_at(size, "s").value_or(0)),
               fmt::format("{} to {}", precise_words(number_at(size, "low_s").value_or(0)),
                           precise_words(number_at(size, "high_s").value_or(0))),
               fmt::format("{}", id_at(size, "runs")), watts_words(size)});
  fmt::print("{}", table.text());
}

void print_last(const Json& history, double now) {
  const Json& last = list_at(history, "last");
  if (last.empty()) return;
  Columns table({{"run ended"},
                 {"slices", true},
                 {"others", true},
                 {"took", true},
                 {"predicted", true},
                 {"off by", true},
                 {"watts", true}});
  for (const Json& run : last) {
    const auto ran = number_at(run, "ran_s"), predicted = number_at(run, "predicted_s");
    table.add({when_words(number_at(run, "ended_at").value_or(0), now), fmt::format("{}", id_at(run, "compute_slices")),
               fmt::format("{:.0f} %", 100 * number_at(run, "load").value_or(0)), precise_words(ran.value_or(0)),
               predicted ? precise_words(*predicted) : "-", ran && predicted ? off_words(*ran, *predicted) : "-",
               watts_words(run)});
  }
  fmt::print("\n{}", table.text());
}

void print_history(const Json& history, double now) {
  const double runs = number_at(history, "runs").value_or(0),
               borrowed = number_at(history, "borrowed_runs").value_or(0);
  fmt::print("{}\n", text_at(history, "signature", "?"));
  if (list_at(history, "sizes").empty()) {
    fmt::print("No history yet: neither this command nor a similar one has finished.\n");
    return;
  }
  std::string words = runs > 0 ? fmt::format("from {:.0f} run{}", runs, runs == 1 ? "" : "s")
                               : fmt::format("not run yet; from {:.0f} runs of similar commands", borrowed);
  words += fmt::format("; launch {}", precise_words(number_at(history, "launch_s").value_or(0)));
  if (const auto slowdown = number_at(history, "slowdown"))
    words += fmt::format("; takes {:.2f} times as long when neighbours fill the GPU", *slowdown);
  if (const auto memory = number_at(history, "mem_mib")) words += fmt::format("; GPU memory {:.0f} MiB", *memory);
  if (const auto error = number_at(history, "mean_error"))
    words += fmt::format("; predictions off by {:.0f} % on average", 100 * *error);
  if (const double changes = number_at(history, "changes").value_or(0); changes > 0)
    words += fmt::format("; the program has changed {:.0f} time{}", changes, changes == 1 ? "" : "s");
  fmt::print("{}\n\n", words);
  print_sizes(history);
  print_last(history, now);
}

}  // namespace

int run_history(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> rest;
  std::string kind;
  bool dashed = false;
  Command cmd(
      "history", "JOB | -- COMMAND...",
      "Shows what smartmig has learned from past runs of a command: seconds on each slice size with an 80 % interval, launch time, watts above idle, GPU memory, and the predictions for recent runs. Runs of the same command with different numbers count as well.",
      "smartmig history -- python3 train.py --steps 300");
  cmd.option("--kind", kind, "KIND", "kind of the job, as for submit");
  options.declare(cmd);
  cmd.command_line(rest, dashed);
  Arguments words = arguments;
  if (!words.empty() && parse_int(words.front()))
    std::rotate(words.begin(), words.begin() + 1, words.end());  // options may follow a job
  if (const auto end = cmd.ends(words)) return *end;
  if (rest.empty())
    return usage_error(invalid("name a job or a command: smartmig history 12, smartmig history -- COMMAND..."));
  auto client = options.connect();
  if (!client) return failure(client.error());
  Json body = {{"command", rest}};
  if (!kind.empty()) body["kind"] = kind;
  const auto ids =
      rest.size() == 1 && !dashed ? read_ids(rest) : Result<std::vector<std::uint64_t>>(invalid("a command"));
  const auto answer = ids && ids->size() == 1 ? client->get(fmt::format("/v1/jobs/{}/history", ids->front()))
                                              : client->post("/v1/history", body);
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else
    print_history(*answer, unix_seconds(unix_now()));
  return 0;
}

}  // namespace smartmig::cli
