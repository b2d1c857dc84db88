// smartmig submit and run: ordinary commands into the daemon's queue.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include "base/json.h"
#include "base/printable.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/follow.h"
#include "cli/queue/job_words.h"
#include "cli/queue/pty_client.h"
#include "cli/queue/submission.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kBatchBytes = 512u << 10;  // of one request: a list of commands is sent in several

const char* kHow =
    "Write COMMAND and its arguments after --, and do not quote them as one string. A SCRIPT must start with #!; its #SMARTMIG and #SBATCH lines can contain the same options. With -, smartmig reads commands from standard input, one per line, and runs each of them with sh -c. The job runs in your current directory with your environment. Options on the command line override #SMARTMIG lines, which override #SBATCH lines. In an #SBATCH line, --mem means host memory and --mem-per-gpu means GPU memory. See docs/queue.md.";

void say(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "smartmig: {}\n", printable(note));
}

// A daemon that was started a moment ago, or restarts, is there in another.
void await_daemon(DaemonClient& client) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < patience) {
    const auto health = client.get("/healthz");
    if (health || health.error().code != Error::kLost) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// All accepted jobs. Each request is all or nothing; when a later one is refused, the error says what was taken before.
Result<Json> send(DaemonClient& client, const std::vector<Json>& specs, const std::string& owner = "") {
  await_daemon(client);
  Json ids = Json::array(), jobs = Json::array(), warnings = Json::array(), quotas;
  for (std::size_t next = 0; next < specs.size();) {
    Json batch = Json::array();
    for (std::size_t bytes = 0; next < specs.size(); ++next) {
      bytes += json_dump(specs[next]).size() + 1;
      if (!batch.empty() && bytes > kBatchBytes) break;
      batch.push_back(specs[next]);
    }
    const auto answer = client.post("/v1/jobs" + (owner.empty() ? "" : "?user=" + owner),
                                    batch.size() == 1 ? batch[0] : Json{{"jobs", batch}});
    if (!answer)
      return ids.empty() ? answer.error()
                         : Error{answer.error().code, fmt::format("{} (the first {} of {} commands were accepted)",
                                                                  answer.error().what, ids.size(), specs.size())};
    for (const Json& id : list_at(*answer, "ids")) ids.push_back(id);
    for (const Json& job : list_at(*answer, "jobs")) jobs.push_back(job);
    for (const Json& warning : list_at(*answer, "warnings")) warnings.push_back(warning);
    quotas = list_at(*answer, "quotas");
  }
  return Json{{"ids", ids}, {"jobs", jobs}, {"warnings", warnings}, {"quotas", quotas}};
}

Result<Ok> plain_user(const std::string& user) {
  for (const char c : user)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'))
      return invalid("--for: '{}' is not a user name", user);
  return Ok{};
}

// Of a job for another user: the daemon gives it that user's.
void leave_out_caller(Json& job) {
  Json kept = Json::array();
  for (const Json& entry : list_at(job, "environment")) {
    const std::string text = entry.is_string() ? entry.get<std::string>() : "";
    const std::string name = text.substr(0, text.find('='));
    const bool callers = name == "HOME" || name == "USER" || name == "LOGNAME" || name == "SHELL" || name == "MAIL" ||
                         name.starts_with("SUDO_") || name.starts_with("XDG_");
    if (!callers) kept.push_back(entry);
  }
  job["environment"] = std::move(kept);
}

// As far as this machine can tell, which is the daemon's unless it was named by --server.
Result<Ok> startable(const DaemonOptions& options, Submission& submission) {
  return options.server.empty() ? check_local_start(submission, unix_now()) : Ok{};
}

void print_accepted(const Json& answer, bool ids_only) {
  const Json& ids = list_at(answer, "ids");
  if (ids_only) {
    for (const Json& id : ids) fmt::print("{}\n", json_dump(id));
    return;
  }
  const Json& jobs = list_at(answer, "jobs");
  if (ids.size() > 8) {
    fmt::print("{} jobs accepted, {} to {}\n", ids.size(), json_dump(ids.front()), json_dump(ids.back()));
    return;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Json job = i < jobs.size() ? jobs[i] : Json::object();
    fmt::print("job {} {}: {}\n", json_dump(ids[i]), job_title(job), text_at(job, "state", "accepted"));
    if (const std::string url = text_at(job, "url"); !url.empty()) fmt::print("  {} once the job is running\n", url);
  }
}

void print_warnings(const Json& answer) {
  for (const Json& warning : list_at(answer, "warnings"))
    if (warning.is_string()) fmt::print(stderr, "smartmig: {}\n", shown_text(warning));
  for (const Json& left : list_at(answer, "quotas"))
    if (left.is_string()) fmt::print(stderr, "smartmig: {}\n", shown_text(left));
}

// While it lives, an interrupt cancels the job, a second one gives up waiting for it.
class CancelOnInterrupt {
 public:
  CancelOnInterrupt(const DaemonOptions& options, std::uint64_t id) {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    sigaddset(&set_, SIGUSR2);  // ours: the end
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    watcher_ = std::thread([this, options, id] { watch(options, id); });
  }
  ~CancelOnInterrupt() {
    over_ = true;
    pthread_kill(watcher_.native_handle(), SIGUSR2);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  int interrupted() const { return signal_; }

 private:
  void watch(const DaemonOptions& options, std::uint64_t id) {
    for (int signal = 0; sigwait(&set_, &signal) == 0;) {
      if (over_) return;
      if (signal == SIGUSR2) continue;
      if (signal_) _exit(128 + signal);
      signal_ = signal;
      fmt::print(stderr, "smartmig: cancelling job {}; interrupt again to exit immediately\n", id);
      auto client = options.connect();
      if (!client) continue;
      if (const auto gone = client->remove(fmt::format("/v1/jobs/{}", id)); !gone) failure(gone.error());
    }
  }
  sigset_t set_{}, before_{};
  std::atomic<bool> over_{false};
  std::atomic<int> signal_{0};
  std::thread watcher_;
};

}  // namespace

int run_submit(const Arguments& arguments) {
  DaemonOptions options;
  Words words;
  bool ids_only = false, wait = false;
  std::string owner;
  Command cmd("submit", "-- COMMAND... | SCRIPT [ARGUMENT...] | -",
              std::string("Submits a command, a script or a list of commands, and prints the job number.\n") + kHow,
              "smartmig submit --mem 18G --deadline 2h --estimate 20m -- python3 train.py --epochs 3");
  declare_submit_options(cmd, words.options, words.notes);
  cmd.flag("--parsable", ids_only, "print only the job numbers, one per line");
  cmd.option("--for", owner, "USER", "run the job as USER, without your HOME and USER variables (root only)");
  cmd.flag("--wait", wait, "wait until all jobs have ended; the exit code is 0 if all succeeded").alias("-W");
  options.declare(cmd);
  cmd.command_line(words.rest, words.dashed);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (const auto good = plain_user(owner); !good) return usage_error(good.error());
  auto submission = make_submission(words, std::cin, unix_now());
  if (!submission) return usage_error(submission.error());
  const auto there = startable(options, *submission);
  if (!owner.empty())
    for (Json& job : submission->jobs) leave_out_caller(job);
  say(submission->notes);
  if (!there) return usage_error(there.error());
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = send(*client, submission->jobs, owner);
  if (!answer) return failure(answer.error());
  if (options.json)
    print_json(*answer);
  else
    print_accepted(*answer, ids_only);
  print_warnings(*answer);
  if (!wait) return 0;
  std::fflush(stdout);
  std::vector<std::uint64_t> ids;
  for (const Json& id : list_at(*answer, "ids"))
    if (id.is_number_unsigned()) ids.push_back(id.get<std::uint64_t>());
  int failed = 0;
  const auto over = wait_for(*client, ids, -1, [&](const Json& job) { failed += text_at(job, "state") != "done"; });
  if (!over) return failure(over.error());
  return failed ? 1 : 0;
}

int run_run(const Arguments& arguments) {
  DaemonOptions options;
  Words words;
  bool terminal = false;
  Command cmd("run", "-- COMMAND... | SCRIPT [ARGUMENT...]",
              std::string("Submits a job, shows its log and exits with the job's exit code (128 + signal number if "
                          "a signal ended it).\nAn interrupt cancels the job. With --json, the log goes to "
                          "standard error and the final job to standard output.\n") +
                  kHow,
              "smartmig run --mem 4G -- nvidia-smi -L");
  declare_submit_options(cmd, words.options, words.notes);
  cmd.flag("--pty", terminal,
           "connect the job to this terminal, for example for a shell; closing the terminal ends the job");
  options.declare(cmd);
  cmd.command_line(words.rest, words.dashed);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (!words.dashed && !words.rest.empty() && words.rest[0] == "-")
    return usage_error(invalid("run takes one job; for a list of commands use smartmig submit -"));
  auto submission = make_submission(words, std::cin, unix_now());
  if (!submission) return usage_error(submission.error());
  if (submission->jobs[0].contains("array"))
    return usage_error(invalid("run takes one job; for an array use smartmig submit --wait"));
  if (const auto there = startable(options, *submission); !there) return usage_error(there.error());
  std::optional<PtyClient> pty;
  if (terminal) {
    if (!options.server.empty())
      return usage_error(invalid("--pty works only on the daemon's own machine; leave out --server"));
    auto opened = PtyClient::open();
    if (!opened) return usage_error(opened.error());
    auto job = opened->wrapped(submission->jobs[0]);
    if (!job) return usage_error(job.error());
    submission->jobs[0] = std::move(*job);
    pty.emplace(std::move(*opened));
  }
  say(submission->notes);
  auto client = options.connect();
  if (!client) return failure(client.error());
  const auto answer = send(*client, submission->jobs);
  if (!answer) return failure(answer.error());
  print_warnings(*answer);
  const Json& ids = list_at(*answer, "ids");
  if (ids.empty() || !ids[0].is_number_unsigned())
    return failure(invalid("the daemon's reply has no job number; check that client and daemon have the same version"));
  const auto id = ids[0].get<std::uint64_t>();
  fmt::print(stderr, "smartmig: job {} is queued\n", id);
  if (const Json& jobs = list_at(*answer, "jobs"); !jobs.empty())
    if (const std::string url = text_at(jobs[0], "url"); !url.empty())
      fmt::print(stderr, "smartmig: {} once the job is running\n", url);
  CancelOnInterrupt guard(options, id);
  const auto job = pty ? pty->serve(*client, id) : follow_job(*client, id, options.json ? stderr : stdout);
  if (!job) return failure(job.error());
  if (options.json)
    print_json(*job);
  else
    fmt::print(stderr, "smartmig: {}\n", job_sentence(*job, unix_seconds(unix_now())));
  return guard.interrupted() ? 128 + guard.interrupted() : exit_code_of(*job);
}

}  // namespace smartmig::cli
