// smartmig cancel, requeue, drain, resume, pause, backup, restore: verbs that ask the daemon to do one thing.
// However many jobs are named, they are one request, so that the daemon makes one transaction of them.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/queue/job_change.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "serve/config/places.h"
#include "serve/store/store.h"

namespace smartmig::cli {
namespace {

// The same request for each object; goes on after a refusal and reports all.
int for_each(const DaemonOptions& options, const std::vector<std::string>& objects,
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
  if (options.json) print_json(answers);
  return code;
}

Result<std::vector<std::string>> gpu_numbers(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (const auto number = parse_int(word); !number || *number < 0 || *number > 4095)
      return invalid("'{}' is not the number of a GPU; smartmig top --once shows them", word);
  return words;
}

int set_gpus(const DaemonOptions& options, const std::vector<std::string>& gpus, const char* what) {
  return for_each(
      options, gpus,
      [&](DaemonClient& client, const std::string& gpu) {
        return client.post(fmt::format("/v1/gpus/{}/{}", gpu, what), Json::object());
      },
      [&](const std::string& gpu, const Json&) {
        return *what == 'd' ? fmt::format("GPU {} drains: what runs there ends, nothing new starts", gpu)
                            : fmt::format("GPU {} takes work again", gpu);
      });
}

int set_queue(const DaemonOptions& options, const char* what) {
  return for_each(
      options, {what},
      [](DaemonClient& client, const std::string& word) { return client.post("/v1/queue/" + word, Json::object()); },
      [](const std::string& word, const Json&) {
        return word == "pause" ? "the queue is paused: what runs goes on, nothing new starts"
                               : "the queue starts work again";
      });
}

}  // namespace

int run_cancel(const Arguments& arguments) {
  DaemonOptions options;
  JobsMeant meant;
  Command cmd("cancel", "JOB...",
              "Cancels jobs: one that waits goes at once, one that runs is asked to stop and killed after its grace.\n"
              "--user, --name and --state together mean the jobs that are all of these.",
              "smartmig cancel --name sweep --state queued");
  meant.declare(cmd);
  options.declare(cmd);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
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
              "Puts jobs back into the queue: a running one is stopped first, a finished one runs again.",
              "smartmig requeue --failed --since 2h");
  cmd.flag("--failed", failed, "all your jobs that failed since --since");
  cmd.option("--since", since, "TIME", "how far back --failed and final states look: 2h, 7d");
  meant.declare(cmd);
  options.declare(cmd);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto back = read_duration(since, Time(60'000'000));
  if (!back) return usage_error(back.error());
  auto body = meant.body(cmd, "requeue");
  if (failed) {
    if (!body) body = Json::object();
    if (body->contains("state")) return usage_error(invalid("--failed is a state: without --state"));
    (*body)["state"] = "failed";
  }
  if (!body) return usage_error(body.error());
  if (body->contains("state")) (*body)["since_at"] = unix_seconds(unix_now() - *back);
  return change_jobs(options, "requeue", *body);
}

int run_drain(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  Command cmd("drain", "GPU...", "Lets what runs on a GPU end and starts nothing new there, for maintenance.",
              "smartmig drain 3");
  options.declare(cmd);
  cmd.positionals(words);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto gpus = gpu_numbers(words);
  if (!gpus) return usage_error(gpus.error());
  if (gpus->empty()) return usage_error(invalid("which GPU? smartmig drain GPU..."));
  return set_gpus(options, *gpus, "drain");
}

int run_resume(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  Command cmd("resume", "[GPU...]", "Lets drained or quarantined GPUs take work again; without GPU: the paused queue.",
              "smartmig resume 3");
  options.declare(cmd);
  cmd.positionals(words);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto gpus = gpu_numbers(words);
  if (!gpus) return usage_error(gpus.error());
  return gpus->empty() ? set_queue(options, "resume") : set_gpus(options, *gpus, "resume");
}

int run_pause(const Arguments& arguments) {
  DaemonOptions options;
  Command cmd("pause", "", "Pauses the queue: what runs goes on, nothing new starts until smartmig resume.",
              "smartmig pause");
  options.declare(cmd);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  return set_queue(options, "pause");
}

int run_backup(const Arguments& arguments) {
  DaemonOptions options;
  std::string path;
  Command cmd("backup", "FILE", "Writes a whole, consistent copy of the daemon's queue and journal while work goes on.",
              "smartmig backup /var/backups/smartmig.db");
  options.declare(cmd);
  cmd.positional(path);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  std::error_code failed;
  const std::string absolute = std::filesystem::absolute(path, failed).string();
  if (failed) return failure(io_error("{}: {}", path, failed.message()));
  return for_each(
      options, {absolute},
      [](DaemonClient& client, const std::string& file) {
        return client.post("/v1/backup", Json{{"path", file}});
      },
      [](const std::string& file, const Json&) { return "the queue and its journal are saved in " + file; });
}

int run_restore(const Arguments& arguments) {
  std::string file, state;
  bool json = false;
  Command cmd("restore", "FILE",
              "Puts a backup in the place of the daemon's queue. The daemon must not be running; what was there is "
              "kept beside it "
              "as\nqueue.db.replaced.",
              "smartmig restore /var/backups/smartmig.db --state /var/lib/smartmig");
  cmd.option("--state", state, "DIR", "the daemon's state directory; else the user's own (docs/serve-config.md)")
      .env("SMARTMIG_STATE");
  cmd.flag("--json", json, "print JSON");
  cmd.positional(file);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const std::string path = (std::filesystem::path(state.empty() ? default_state_dir() : state) / kStoreFile).string();
  if (const auto done = restore_store(file, path); !done) return failure(done.error());
  if (json)
    print_json({{"restored", path}, {"from", file}});
  else
    fmt::print("{} is restored from {}; smartmig serve goes on from there\n", path, file);
  return 0;
}

}  // namespace smartmig::cli
