// smartmig hold, release, front, suspend, continue, update: orders about jobs of the queue.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/queue/job_change.h"
#include "cli/queue/job_words.h"
#include "cli/queue/submit_options.h"
#include "cli/queue/submit_values.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

int order(const Arguments& arguments, const char* verb, const char* summary, const std::string& example) {
  DaemonOptions options;
  JobsMeant meant;
  Command cmd(verb, "JOB...", summary, example);
  meant.declare(cmd);
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto body = meant.body(cmd, verb);
  if (!body) return usage_error(body.error());
  return change_jobs(options, verb, *body);
}

Json seconds_or_null(const std::optional<Time>& time) { return time ? Json(seconds(*time)) : Json(); }

// What update was told, as keys of a spec.
class Changes {
 public:
  void declare(Command& cmd) {
    add(cmd, "--deadline", "WHEN|none",
        "soft deadline, such as 2h (from now), 16:00 or 2026-11-15T16:00; none removes it");
    add(cmd, "--priority", "N", "priority of the job; higher priorities run first; only root can set a value above 0");
    add(cmd, "--mem", "SIZE|auto",
        "GPU memory that the job needs, such as 18G or 512M; auto: learned from earlier runs");
    add(cmd, "--time", "LIMIT", "kill the job after this run time, such as 30m or 2h; 0: no limit").alias("-t");
    add(cmd, "--estimate", "TIME[@Ng]", "expected run time on a whole GPU (20m) or on N compute slices (20m@3g)");
    add(cmd, "--begin", "WHEN",
        "do not start before this time, such as 2h (from now) or 16:00; now: as soon as possible");
  }
  Json given(const Command& cmd) const {
    Json out = Json::object();
    for (const auto& [option, keys] : set_)
      if (cmd.given(option)) out.update(keys);
    return out;
  }

 private:
  Command& add(Command& cmd, const char* name, const char* value_name, const char* help) {
    return cmd.option(name, Command::Setter([this, name](std::string_view value) { return take(name, value); }),
                      value_name, help);
  }
  Result<Ok> take(const std::string& name, std::string_view value) {
    Draft draft;
    SMARTMIG_RETURN_IF_ERROR(
        apply(draft, {{find_submit_option(name), std::string(value)}}, Dialect::kSmartmig, unix_now()));
    const JobSpec& spec = draft.spec;
    Json& set = set_[name] = Json::object();
    const auto instant = [&](const char* key, const std::optional<UnixTime>& at, const std::optional<Time>& from_now) {
      if (from_now)
        set[std::string(key) + "_s"] = seconds(*from_now);
      else
        set[std::string(key) + "_at"] = at ? Json(unix_seconds(*at)) : Json();
    };
    if (name == "--deadline") instant("deadline", spec.deadline, draft.deadline_in);
    if (name == "--begin") instant("begin", spec.begin, draft.begin_in);
    if (name == "--priority") set["priority"] = spec.priority;
    if (name == "--mem") set["mem_mib"] = spec.mem_mib ? Json(*spec.mem_mib) : Json();
    if (name == "--time") set["time_limit_s"] = seconds_or_null(spec.time_limit);
    if (name == "--estimate") {
      set["estimate_s"] = seconds_or_null(spec.estimate);
      set["estimate_slices"] = spec.estimate_slices;
    }
    return Ok{};
  }
  std::map<std::string, Json> set_;  // by option
};

// What update can change, as `update` names it, with its value in words.
std::vector<std::pair<std::string, std::string>> values_of(const Json& job, double now) {
  const auto number = [&](const char* key) { return number_at(job, key); };
  const Json& spec = object_at(job, "spec");
  const auto memory = number("mem_mib"), limit = number_at(spec, "time_limit_s"), begin = number("begin_at");
  return {{"deadline", number("deadline_at") ? deadline_words(job, now) : "none"},
          {"priority", fmt::format("{:.0f}", number("priority").value_or(0))},
          {"mem", memory ? mib_words(*memory) : "learned"},
          {"time", limit ? duration_words(*limit) : "no limit"},
          {"estimate", estimate_words(job)},
          {"begin", begin ? when_words(*begin, now) : "as soon as it can"}};
}

// "job 12 train: deadline 18:00, in 4 h (was none)". The old value is told where the job was asked for before.
std::string updated_words(const Json& job, const Json& before, const Json& set, double now) {
  const auto after = values_of(job, now), old = values_of(before, now);
  std::string out;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto named = [prefix = after[i].first](const std::string& key) {
      return key.starts_with(prefix) && !(prefix == "mem" && key != "mem_mib");
    };
    bool asked = false;
    for (const auto& item : set.items()) asked |= named(item.key());
    if (!asked) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", after[i].first, after[i].second);
    if (!before.empty() && old[i].second != after[i].second) out += fmt::format(" (was {})", old[i].second);
  }
  return fmt::format("job {} {}: {}", id_at(job, "id"), job_title(job), out);
}

}  // namespace

int run_hold(const Arguments& arguments) {
  return order(
      arguments, "hold",
      "Holds waiting jobs until they are released with smartmig release. Only the operator can release jobs that the operator holds.",
      "smartmig hold 12 14-17");
}

int run_release(const Arguments& arguments) {
  return order(arguments, "release", "Releases jobs that were held with smartmig hold or submit --hold.",
               "smartmig release 12");
}

int run_front(const Arguments& arguments) {
  return order(
      arguments, "front",
      "Moves waiting jobs to the head of the queue by raising their priority. Only root and the user who runs the daemon may do this.",
      "smartmig front 12");
}

int run_suspend(const Arguments& arguments) {
  return order(
      arguments, "suspend",
      "Suspends the processes of running jobs (SIGSTOP). The jobs keep their slices and memory, and their time limits do not count down.",
      "smartmig suspend 12");
}

int run_continue(const Arguments& arguments) {
  return order(arguments, "continue", "Resumes suspended jobs (SIGCONT).", "smartmig continue 12");
}

int run_update(const Arguments& arguments) {
  DaemonOptions options;
  JobsMeant meant;
  Changes changes;
  Command cmd("update", "JOB...",
              "Changes waiting jobs. For running jobs, only the deadline and the priority can be changed.",
              "smartmig update 12 --deadline 4h --mem 20G");
  changes.declare(cmd);
  options.declare(cmd);
  cmd.option("--tasks-of", meant.array, "ID", "all tasks of this array").also("--array");
  cmd.positionals(meant.words);
  if (const auto end = cmd.ends(arguments)) return *end;
  const Json set = changes.given(cmd);
  if (set.empty())
    return usage_error(invalid("name a change: --deadline, --priority, --mem, --time, --estimate or --begin"));
  auto body = meant.body(cmd, "update");
  if (!body) return usage_error(body.error());
  (*body)["set"] = set;
  constexpr std::size_t kMostAsked = 100;
  std::map<std::uint64_t, Json> before;
  if (const Json& ids = list_at(*body, "ids"); !options.json && ids.size() <= kMostAsked)
    if (auto client = options.connect())
      for (const Json& id : ids)
        if (auto job = client->get(fmt::format("/v1/jobs/{}", id.get<std::uint64_t>())))
          before[id.get<std::uint64_t>()] = std::move(*job);
  return change_jobs(options, "update", *body, [&](const Json& job) {
    return updated_words(job, before[id_at(job, "id")], set, unix_seconds(unix_now()));
  });
}

}  // namespace smartmig::cli
