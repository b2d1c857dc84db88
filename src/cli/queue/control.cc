// smartmig cancel, requeue, drain, resume, undrain, pause, reload, backup, restore: verbs that ask the daemon to do one thing.
// However many jobs are named, they are one request, so that the daemon makes one transaction of them.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/queue/job_change.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "live/gpu/controller_lock.h"
#include "queue/config/places.h"
#include "queue/store/store.h"

namespace smartmig::cli {
namespace {

// The same request for each object; goes on after a refusal and reports all. `list`: the key of the answers as JSON.
int for_each(const DaemonOptions& options, const char* list, const std::vector<std::string>& objects,
             const std::function<Result<Json>(DaemonClient&, const std::string&)>& ask,
             const std::function<std::string(const std::string&, const Json&)>& words) {
  auto client = options.connect();
  if (!client) return failure(client.error());
  Json answers = Json::array();
  int code = 0;
  for (const std::string& object : objects) {
    auto answer = ask(*client, object);
    if (!answer)
      code = failure(answer.error());
    else if (options.json)
      answers.push_back(std::move(*answer));
    else
      fmt::print("{}\n", words(object, *answer));
  }
  if (options.json) print_json({{list, answers}});
  return code;
}

Result<std::vector<std::string>> gpu_numbers(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (const auto number = parse_int(word); !number || *number < 0 || *number > 4095)
      return invalid("'{}' is not a GPU number; smartmig gpus lists the GPUs", word);
  return words;
}

// One request, one answer.
int ask_once(const DaemonOptions& options, const char* path, const Json& body, const std::string& words) {
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = client->post(path, body);
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else
    fmt::print("{}\n", words);
  return 0;
}

// drain and resume. Without a GPU: the queue, unless the verb needs one.
int set_gpus(Command& cmd, const Arguments& arguments, const char* what, bool needs_gpu) {
  DaemonOptions options;
  std::vector<std::string> words;
  options.declare(cmd);
  cmd.positionals(words);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto gpus = gpu_numbers(words);
  if (!gpus) return usage_error(gpus.error());
  if (gpus->empty() && needs_gpu) return usage_error(invalid("name a GPU: smartmig {} GPU...", cmd.verb()));
  if (gpus->empty()) return ask_once(options, "/v1/queue/resume", Json::object(), "the queue starts jobs again");
  return for_each(
      options, "gpus", *gpus,
      [&](DaemonClient& client, const std::string& gpu) {
        return client.post(fmt::format("/v1/gpus/{}/{}", gpu, what), Json::object());
      },
      [&](const std::string& gpu, const Json&) {
        return *what == 'd' ? fmt::format("GPU {} is draining: running jobs finish, and no job starts", gpu)
                            : fmt::format("GPU {} is back in service", gpu);
      });
}

}  // namespace

int run_cancel(const Arguments& arguments) {
  DaemonOptions options;
  JobsMeant meant;
  Command cmd(
      "cancel", "JOB...",
      "Cancels jobs. A waiting job is removed at once; a running job is asked to stop and is killed after its grace time.\n"
      "If you combine --user, --name and --only, a job must match all of them.",
      "smartmig cancel --name sweep --only queued");
  meant.declare(cmd);
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto body = meant.body(cmd, "cancel");
  if (!body) return usage_error(body.error());
  return change_jobs(options, "cancel", *body);
}

int run_requeue(const Arguments& arguments) {
  DaemonOptions options;
  JobsMeant meant;
  bool failed = false;
  std::string since = "1d";
  Command cmd("requeue", "JOB...",
              "Puts jobs back into the queue. A running job is stopped first; a job that has ended runs again.",
              "smartmig requeue --failed --since 2h");
  cmd.flag("--failed", failed, "all your jobs that failed within --since");
  cmd.option("--since", since, "TIME", "how far back --failed and --only look for ended jobs, such as 2h or 7d");
  meant.declare(cmd);
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto back = read_duration(since, Time(60'000'000));
  if (!back) return usage_error(back.error());
  auto body = meant.body(cmd, "requeue");
  if (failed) {
    if (!body) body = Json::object();
    if (body->contains("state")) return usage_error(invalid("--failed already selects a state; leave out --only"));
    (*body)["state"] = "failed";
  }
  if (!body) return usage_error(body.error());
  if (body->contains("state")) (*body)["since_at"] = unix_seconds(unix_now() - *back);
  return change_jobs(options, "requeue", *body);
}

int run_drain(const Arguments& arguments) {
  Command cmd("drain", "GPU...",
              "Takes GPUs out of service: running jobs finish, and no new jobs start there. Use it before maintenance.",
              "smartmig drain 3");
  return set_gpus(cmd, arguments, "drain", true);
}

int run_resume(const Arguments& arguments) {
  Command cmd("resume", "[GPU...]",
              "Returns drained or quarantined GPUs to service. Without GPU, it resumes a paused queue.",
              "smartmig resume 3");
  return set_gpus(cmd, arguments, "resume", false);
}

int run_undrain(const Arguments& arguments) {
  Command cmd("undrain", "GPU...", "Returns drained or quarantined GPUs to service, like smartmig resume GPU.",
              "smartmig undrain 3");
  return set_gpus(cmd, arguments, "resume", true);
}

int run_reload(const Arguments& arguments) {
  DaemonOptions options;
  Command cmd(
      "reload", "",
      "Makes the daemon reload its configuration file, as SIGHUP does. If a changed setting cannot take effect while the daemon runs, the daemon names it and changes nothing. Only root and the user who runs the daemon may do this.",
      "smartmig reload");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  return ask_once(options, "/v1/reload", Json::object(), "the configuration was reloaded");
}

int run_pause(const Arguments& arguments) {
  DaemonOptions options;
  Command cmd("pause", "", "Pauses the queue: running jobs continue, but no job starts until smartmig resume.",
              "smartmig pause");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  return ask_once(options, "/v1/queue/pause", Json::object(),
                  "the queue is paused: running jobs continue, and no job starts");
}

int run_backup(const Arguments& arguments) {
  DaemonOptions options;
  std::string path;
  Command cmd("backup", "FILE",
              "Writes a complete, consistent copy of the daemon's queue and journal while the daemon "
              "runs.",
              "smartmig backup /var/backups/smartmig.db");
  options.declare(cmd);
  cmd.positional(path);
  if (const auto end = cmd.ends(arguments)) return *end;
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed).string();
  if (failed) return failure(io_error("{}: {}", path, failed.message()));
  return ask_once(options, "/v1/backup", Json{{"path", absolute}},
                  "the queue and its journal were saved to " + absolute);
}

int run_restore(const Arguments& arguments) {
  std::string file, state;
  bool json = false;
  Command cmd(
      "restore", "FILE",
      "Replaces the daemon's queue with a backup. Stop the daemon first. The old queue is kept next to the new one as queue.db.replaced.",
      "smartmig restore /var/backups/smartmig.db --state /var/lib/smartmig");
  cmd.option("--state", state, "DIR", "state directory of the daemon (default: your own; see docs/serve-config.md)")
      .env("SMARTMIG_STATE");
  cmd.flag("--json", json, "print JSON");
  cmd.positional(file);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (state.empty()) state = default_state_dir();
  const std::string path = (std::filesystem::path(state) / kStoreFile).string();
  const auto lock = ControllerLock::take(state, {"queue"});  // no daemon begins meanwhile
  if (!lock) return failure(lock.error());
  if (const auto done = restore_store(file, path); !done) return failure(done.error());
  if (json)
    print_json({{"restored", path}, {"from", file}});
  else
    fmt::print("{} was restored from {}; smartmig serve continues from there\n", path, file);
  return 0;
}

}  // namespace smartmig::cli
