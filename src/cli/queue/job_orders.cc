// smartmig hold, release, front, suspend, continue, update: orders about jobs of the queue.
#include <map>

#include "cli/queue/job_change.h"
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
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto body = meant.body(cmd, verb);
  if (!body) return usage_error(body.error());
  return change_jobs(options, verb, *body);
}

Json seconds_or_null(const std::optional<Time>& time) { return time ? Json(seconds(*time)) : Json(); }

// What update was told, as keys of a spec.
class Changes {
 public:
  void declare(Command& cmd) {
    add(cmd, "--deadline", "WHEN|none", "soft: 2h from now, 16:00, 2026-11-15T16:00; none: without one");
    add(cmd, "--priority", "N", "higher goes first; only root may give more than 0");
    add(cmd, "--mem", "SIZE|auto", "GPU memory: 18G, 512M, 20480 (MiB); auto: learned");
    add(cmd, "--time", "LIMIT", "killed after this run time: 30m, 2h; 0: no limit").alias("-t");
    add(cmd, "--estimate", "TIME[@Ng]", "expected run time on the whole GPU, or on N compute slices");
    add(cmd, "--begin", "WHEN", "starts no earlier: 2h from now, 16:00; now: as soon as it can");
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

}  // namespace

int run_hold(const Arguments& arguments) {
  return order(arguments, "hold",
               "Lets waiting jobs wait until smartmig release. What the operator holds, the operator alone releases.",
               "smartmig hold 12 14-17");
}

int run_release(const Arguments& arguments) {
  return order(arguments, "release", "Lets held jobs run: those of smartmig hold and of submit --hold.",
               "smartmig release 12");
}

int run_front(const Arguments& arguments) {
  return order(arguments, "front",
               "Puts waiting jobs before all others, by a priority above theirs; for root, or the user who runs the "
               "daemon.",
               "smartmig front 12");
}

int run_suspend(const Arguments& arguments) {
  return order(arguments, "suspend",
               "Stops the processes of running jobs for a while (SIGSTOP). They keep their slices and their memory; "
               "their time\nlimit stands still.",
               "smartmig suspend 12");
}

int run_continue(const Arguments& arguments) {
  return order(arguments, "continue", "Lets suspended jobs go on (SIGCONT).", "smartmig continue 12");
}

int run_update(const Arguments& arguments) {
  DaemonOptions options;
  JobsMeant meant;
  Changes changes;
  Command cmd("update", "JOB...",
              "Changes what jobs ask for, while they wait; of a running one the deadline and the priority.",
              "smartmig update 12 --deadline 4h --mem 20G");
  changes.declare(cmd);
  options.declare(cmd);
  cmd.option("--array", meant.array, "ID", "every task of this array");
  cmd.positionals(meant.words);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const Json set = changes.given(cmd);
  if (set.empty())
    return usage_error(invalid("what is to be changed? --deadline, --priority, --mem, --time, --estimate or --begin"));
  auto body = meant.body(cmd, "update");
  if (!body) return usage_error(body.error());
  (*body)["set"] = set;
  return change_jobs(options, "update", *body);
}

}  // namespace smartmig::cli
