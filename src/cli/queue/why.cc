// smartmig why and eta: why a job waits and what would change it, when it will start and end.
#include <fmt/format.h>

#include <algorithm>

#include "cli/queue/daemon_options.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

std::string late_words(const Json& object, const char* key) {
  const auto late = number_at(object, key);
  if (!late) return "n/a";  // no deadline
  return *late < 1 ? "on time" : duration_words(*late) + " late";
}

std::string at_words(const Json& object, const char* key, double now) {
  const auto at = number_at(object, key);
  return at ? when_words(*at, now) : "-";
}

void print_why(const Json& why, double now) {
  fmt::print("job {}: {} [{}]\n", id_at(why, "job"), text_at(why, "sentence", "?"), text_at(why, "code", "?"));
  if (const Json& reserved = object_at(why, "reservation"); reserved.contains("slice")) {
    std::string after;
    for (const Json& job : list_at(reserved, "after"))
      if (job.is_string()) after += (after.empty() ? "" : ", ") + shown_text(job);
    fmt::print("reserved: {} of GPU {}, from {}{}\n", text_at(reserved, "slice", "?"), id_at(reserved, "gpu"),
               at_words(reserved, "start_at", now), after.empty() ? "" : ", after job " + after);
  }
  if (const std::string memory = text_at(why, "memory"); !memory.empty()) fmt::print("memory: {}\n", memory);
  const Json& changes = list_at(why, "to_change");
  if (!changes.empty()) fmt::print("\nWhat would have to change:\n");
  for (const Json& change : changes)
    if (change.is_string()) fmt::print("  {}\n", shown_text(change));
  const Json& alternatives = list_at(why, "alternatives");
  if (alternatives.empty()) return;
  bool priced = false;
  for (const Json& one : alternatives) priced = priced || number_at(one, "cost");
  std::vector<Columns::Head> heads = {{"alternative"}, {"starts"}, {"ends"}, {"deadline"}, {"energy (model)", true}};
  if (priced) heads.push_back({"cost", true});
  Columns table(heads);
  for (const Json& one : alternatives) {
    const auto joules = number_at(one, "energy_j"), cost = number_at(one, "cost");
    const auto start = number_at(one, "start_at");  // "now" of the daemon's answer is not "2 s ago"
    std::vector<std::string> row = {text_at(one, "what", "?"), start ? when_words(std::max(*start, now), now) : "-",
                                    at_words(one, "finish_at", now), start ? late_words(one, "late_s") : "-",
                                    joules ? energy_words(*joules) : "-"};
    if (priced) row.push_back(cost ? cost_words(*cost) : "-");
    table.add(std::move(row));
  }
  fmt::print("\n{}", table.text());
}

void print_spreads(const Json& eta, std::uint64_t job, std::optional<double> started, double now) {
  Columns table({{fmt::format("job {}", job)}, {"early (10 %)"}, {"median"}, {"late (90 %)"}});
  for (const auto& [title, key] : {std::pair("starts", "start_at"), std::pair("ends", "finish_at")}) {
    const Json& spread = object_at(eta, key);
    if (started && title[0] == 's') {
      table.add({"started", when_words(*started, now), "", ""});
      continue;
    }
    table.add({title, at_words(spread, "p10", now), at_words(spread, "p50", now), at_words(spread, "p90", now)});
  }
  fmt::print("{}", table.text());
}

void print_eta(const Json& eta, double now) {
  const std::uint64_t job = id_at(eta, "job");
  const std::string no_start = text_at(eta, "no_start");
  const Json& released = object_at(eta, "if_released");
  const bool starts_if = released.contains("start_at") && released["start_at"].is_object();
  if (!no_start.empty()) fmt::print("job {} has no start: {}\n", job, no_start);
  if (!no_start.empty() && !starts_if) return;
  if (starts_if) fmt::print("If it is released now:\n");
  print_spreads(starts_if ? released : eta, job, number_at(eta, "started_at"), now);
  fmt::print("from {:.0f} simulated futures of the current queue\n", number_at(eta, "futures").value_or(0));
  const auto deadline = number_at(eta, "deadline_at"), ratio = number_at(starts_if ? released : eta, "on_time_ratio");
  if (deadline && ratio) fmt::print("deadline {}: met in {:.0f} % of them\n", when_words(*deadline, now), 100 * *ratio);
}

void print_calibration(const Json& json) {
  static const std::pair<std::string_view, const char*> kMeanings[] = {{"run", "time on its slice, at the start"},
                                                                       {"start", "start, according to the first eta"},
                                                                       {"end", "end, according to the first eta"}};
  Columns table({{"forecast"},
                 {"80 % intervals held", true},
                 {"mean width", true},
                 {"interval score", true},
                 {"median off by", true}});
  for (const Json& one : list_at(json, "forecasts")) {
    std::string meaning = text_at(one, "forecast", "?");
    for (const auto& [name, words] : kMeanings)
      if (name == meaning) meaning = words;
    const auto held = number_at(one, "held_ratio");
    const auto time = [&](const char* key) { return held ? duration_words(number_at(one, key).value_or(0)) : "-"; };
    table.add({meaning,
               held ? fmt::format("{:.0f} % of the last {:.0f}", 100 * *held, number_at(one, "count").value_or(0))
                    : "none yet",
               time("mean_width_s"), time("mean_score_s"),
               held ? fmt::format("a factor of {:.2f}", number_at(one, "median_off").value_or(1)) : "-"});
  }
  fmt::print("{}", table.text());
}

int calibration(const DaemonOptions& options) {
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->get("/v1/calibration");
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else
    print_calibration(*answer);
  return 0;
}

int about_job(const Arguments& arguments, Command cmd, const char* what, void (*print)(const Json&, double)) {
  DaemonOptions options;
  std::string word;
  bool calibrated = false;
  const bool eta = std::string_view(what) == "eta";
  if (eta) cmd.flag("--calibration", calibrated, "show how accurate earlier predictions were");
  options.declare(cmd);
  cmd.positional(word, !eta);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (calibrated)
    return word.empty() ? calibration(options) : usage_error(invalid("--calibration covers all jobs; name none"));
  if (word.empty()) return usage_error(invalid("name a job: smartmig eta 12"));
  const auto ids = read_ids({word});
  if (!ids || ids->size() != 1) return usage_error(ids ? invalid("one job at a time") : ids.error());
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->get(fmt::format("/v1/jobs/{}/{}", ids->front(), what));
  if (!answer) return failure(answer.error());
  Json shown = *answer;
  if (std::string_view(what) == "why")  // its owner may read what its memory rests on
    if (const auto job = client->get(fmt::format("/v1/jobs/{}", ids->front()));
        job && number_at(object_at(*job, "spec"), "mem_estimate_mib"))
      shown["memory"] = memory_words(*job);
  if (options.json)
    print_json(shown);
  else
    print(shown, unix_seconds(unix_now()));
  return 0;
}

}  // namespace

int run_why(const Arguments& arguments) {
  return about_job(
      arguments,
      Command(
          "why", "JOB",
          "Explains why a job waits or how it ended. It prints a reason code, what would have to change, and alternatives with their energy and times.",
          "smartmig why 12"),
      "why", print_why);
}

int run_eta(const Arguments& arguments) {
  return about_job(
      arguments,
      Command(
          "eta", "JOB | --calibration",
          "Predicts when a job will start and end. The intervals come from simulated futures of the live queue, in which run times vary as those of finished jobs did. --calibration shows how often earlier intervals were right.",
          "smartmig eta 12"),
      "eta", print_eta);
}

}  // namespace smartmig::cli
