// smartmig whatif: the live queue forked into the simulator, with something changed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/printable.h"
#include "cli/policy_flags.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/queue/submission.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

std::string change(double now, double then, std::string (*words)(double)) {
  const double difference = then - now;
  if (words(std::abs(difference)) == words(0)) return "same";
  std::string out = (difference < 0 ? "-" : "+") + words(std::abs(difference));
  if (now > 0) out += fmt::format(" ({:+.1f} %)", 100 * difference / now);
  return out;
}

void print_outcomes(const Json& before, const Json& after, double now) {
  Columns table({{""}, {"now", true}, {"then", true}, {"change", true}});
  table.add({"policy", text_at(before, "policy", "?"), text_at(after, "policy", "?"), ""});
  const auto row = [&](const char* title, const char* key, std::string (*words)(double)) {
    const auto a = number_at(before, key), b = number_at(after, key);
    if (a && b) table.add({title, words(*a), words(*b), change(*a, *b, words)});
  };
  row("energy (model)", "energy_j", energy_words);
  row("total lateness", "late_s", duration_words);
  row("mean lateness", "mean_late_s", duration_words);
  row("jobs", "jobs", [](double n) { return fmt::format("{:.0f}", n); });
  row("cost", "cost", cost_words);
  const auto a = number_at(before, "last_finish_at"), b = number_at(after, "last_finish_at");
  if (a && b) {
    std::string words = "same";
    if (std::abs(*b - *a) >= 1) words = (*b < *a ? "-" : "+") + duration_words(std::abs(*b - *a));
    table.add({"last job ends", clock_words(*a, now), clock_words(*b, now), words});
  }
  fmt::print("{}", table.text());
}

void print_jobs(const Json& jobs, double now, std::size_t most) {
  struct Row {
    double moved;
    const Json* job;
  };
  std::vector<Row> rows;
  for (const Json& job : jobs) {
    const auto a = number_at(job, "finish_now_at"), b = number_at(job, "finish_then_at");
    const double moved = a && b ? *b - *a : 0;
    if (!a && !b && id_at(job, "id") != 0) continue;  // it has no start in either
    if (!a || !b || std::abs(moved) >= 1) rows.push_back({moved, &job});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return std::abs(a.moved) > std::abs(b.moved); });
  if (rows.empty()) {
    fmt::print("\nAll jobs would end at the same time as now.\n");
    return;
  }
  Columns table({{"job", true}, {"ends now"}, {"then"}, {"moved", true}, {"late now", true}, {"late then", true}});
  const auto clock = [&](const Json& job, const char* key) {
    const auto at = number_at(job, key);
    return at ? clock_words(*at, now) : std::string("-");
  };
  const auto late = [](const Json& job, const char* key) {
    const auto value = number_at(job, key);
    if (!value) return std::string("n/a");
    return *value >= 1 ? duration_words(*value) : std::string("-");
  };
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Json& job = *rows[i].job;
    const std::uint64_t id = id_at(job, "id");
    table.add({id ? fmt::format("{}", id) : "new", clock(job, "finish_now_at"), clock(job, "finish_then_at"),
               rows[i].moved == 0 ? "-" : (rows[i].moved < 0 ? "-" : "+") + duration_words(std::abs(rows[i].moved)),
               late(job, "late_now_s"), late(job, "late_then_s")});
  }
  fmt::print("\n{}", table.text());
  if (rows.size() > most) fmt::print("and {} more; --json lists all\n", rows.size() - most);
}

}  // namespace

int run_whatif(const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "--sacct" || argument.starts_with("--sacct=")) return run_whatif_history(arguments);
  }
  DaemonOptions options;
  Words words;
  std::string policy, add_gpus;
  std::int64_t limit = 20;
  Command cmd(
      "whatif", "[-- COMMAND... | SCRIPT]",
      "Copies the live queue into the simulator, makes a change, and compares the energy, the lateness and the end of each job. The live queue does not change. You can change the policy, add GPUs, or add a job with the options of submit.\nWith --sacct FILE, it simulates a Slurm cluster's history under several policies; see smartmig whatif --sacct --help.",
      "smartmig whatif --policy static+cedf --add-gpus 1xa100-40gb");
  cmd.option("--policy", policy, "POLICY", "another policy, from the list below");
  cmd.option("--add-gpus", add_gpus, "SPEC", "more GPUs: 1xa100-40gb");
  cmd.option("--rows", limit, "N", "show at most N jobs: those that change most");
  declare_submit_options(cmd, words.options, words.notes);
  options.declare(cmd);
  list_policies(cmd);
  cmd.command_line(words.rest, words.dashed);
  if (const auto end = cmd.ends(arguments)) return *end;
  Json body = Json::object();
  if (!policy.empty()) body["policy"] = policy;
  if (!add_gpus.empty()) body["add_gpus"] = add_gpus;
  if (!words.rest.empty()) {
    const auto submission = make_submission(words, std::cin, unix_now());
    if (!submission) return usage_error(submission.error());
    for (const std::string& note : submission->notes) fmt::print(stderr, "smartmig: {}\n", printable(note));
    if (submission->jobs.size() != 1) return usage_error(invalid("whatif takes one more job, not a list"));
    body["job"] = submission->jobs[0];
    body["job"].erase("environment");
  }
  if (body.empty()) return usage_error(invalid("name a change: --policy, --add-gpus, or -- COMMAND for one more job"));
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->post("/v1/whatif", body);
  if (!answer) return failure(answer.error());
  if (options.json) {
    print_json(*answer);
    return 0;
  }
  const double now = unix_seconds(unix_now());
  print_outcomes(object_at(*answer, "now"), object_at(*answer, "then"), now);
  print_jobs(list_at(*answer, "jobs"), now, std::size_t(std::max<std::int64_t>(limit, 0)));
  return 0;
}

}  // namespace smartmig::cli
