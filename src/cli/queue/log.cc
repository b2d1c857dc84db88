// smartmig log and wait: what a job wrote, and how it ended.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "cli/queue/daemon_options.h"
#include "cli/queue/follow.h"
#include "cli/queue/job_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

// The last `lines` lines of what comes in, in bounded memory.
class Tail {
 public:
  explicit Tail(std::size_t lines) : lines_(lines) {}
  void add(std::string_view piece) {
    for (const char c : piece) {
      if (kept_.empty() || ended_) kept_.emplace_back();
      ended_ = c == '\n';
      if (kept_.back().size() < (1u << 20)) kept_.back() += c;
      if (kept_.size() > lines_) kept_.pop_front();
    }
  }
  std::string text() const {
    std::string out;
    for (const std::string& line : kept_) out += line;
    return out;
  }

 private:
  std::size_t lines_;
  bool ended_ = false;
  std::deque<std::string> kept_;
};

// The newest job of that name: of the caller, else of anybody.
Result<std::uint64_t> job_named(DaemonClient& client, const DaemonOptions& options, const std::string& name) {
  constexpr std::size_t kMostEnded = 1000;  // looked through
  std::vector<std::string> whose = {fmt::format("&user={}", ::getuid()), ""};
  if (!options.server.empty()) whose.erase(whose.begin());
  for (const std::string& user : whose) {
    std::uint64_t newest = 0;
    for (const auto& [state, most] : {std::pair{"active", std::size_t(1'000'000)}, std::pair{"final", kMostEnded}}) {
      SMARTMIG_TRY(const Json jobs, all_jobs(client, fmt::format("state={}{}", state, user), most));
      for (const Json& job : jobs)
        if (text_at(job, "name") == name || job_title(job) == name) newest = std::max(newest, id_at(job, "id"));
    }
    if (newest > 0) return newest;
  }
  return not_found("no job is called '{}'; smartmig queue --all lists them", name);
}

int show_log(DaemonClient& client, std::uint64_t id, std::int64_t attempt, std::int64_t tail, bool json) {
  const auto job = client.get(fmt::format("/v1/jobs/{}", id));
  if (!job) return failure(job.error());
  std::string text;
  Tail last(std::size_t(std::max<std::int64_t>(tail, 1)));
  const auto read = client.stream(fmt::format("/v1/jobs/{}/log?attempt={}", id, attempt), [&](std::string_view piece) {
    if (tail > 0)
      last.add(piece);
    else if (json)
      text += piece;
    else
      return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
    return true;
  });
  if (!read) return failure(read.error());
  if (tail > 0) text = last.text();
  if (json) {
    print_json({{"job", *job}, {"log", text}});
    return 0;
  }
  fmt::print("{}", text);
  std::fflush(stdout);
  fmt::print(stderr, "smartmig: {}\n", job_sentence(*job, unix_seconds(unix_now())));
  return 0;
}

}  // namespace

int run_log(const Arguments& arguments) {
  DaemonOptions options;
  std::string word;
  bool follow = false;
  std::int64_t attempt = 0, tail = 0;
  Command cmd(
      "log", "JOB|NAME",
      "Prints the output of a job, or of the newest job with that name. Standard output and standard error are printed together. A last line on standard error gives the job's state and its attributed energy.",
      "smartmig log -f 12");
  cmd.flag("--follow", follow, "follow the output until the job ends").alias("-f");
  cmd.option("--attempt-no", attempt, "N", "show this attempt instead of the last one (0)").also("--attempt");
  cmd.option("--lines", tail, "N", "show only the last N lines; 0: all").alias("-n");
  options.declare(cmd);
  cmd.positional(word);
  if (const auto end = cmd.ends(arguments)) return *end;
  const bool number = !word.empty() && word.find_first_not_of("0123456789-") == word.npos;
  auto ids = number ? read_ids({word}) : Result<std::vector<std::uint64_t>>(std::vector<std::uint64_t>{0});
  if (!ids || ids->size() != 1) return usage_error(ids ? invalid("log shows one job at a time") : ids.error());
  if (attempt < 0 || tail < 0 || tail > 1'000'000)
    return usage_error(invalid("--attempt-no and --lines must not be negative, and --lines must be at most 1000000"));
  auto client = options.connect();
  if (!client) return failure(client.error());
  if (!number) {
    const auto id = job_named(*client, options, word);
    if (!id) return failure(id.error());
    ids->front() = *id;
  }
  if (!follow) return show_log(*client, ids->front(), attempt, tail, options.json);
  const auto job = follow_job(*client, ids->front(), options.json ? stderr : stdout);
  if (!job) return failure(job.error());
  if (options.json)
    print_json(*job);
  else
    fmt::print(stderr, "smartmig: {}\n", job_sentence(*job, unix_seconds(unix_now())));
  return 0;
}

int run_follow(const Arguments& arguments) {
  Arguments with_follow = arguments;
  with_follow.insert(with_follow.begin(), "--follow");
  return run_log(with_follow);
}

int run_wait(const Arguments& arguments) {
  DaemonOptions options;
  std::vector<std::string> words;
  double timeout_s = -1;
  std::string timeout;
  Command cmd(
      "wait", "[JOB...]",
      "Waits until the jobs have ended and prints a line for each. Without JOB, it waits for all waiting and running jobs. The exit code is 0 if all jobs succeeded, and 1 if one failed or the timeout passed.",
      "smartmig wait 12 14-17 --timeout 30m");
  cmd.option("--timeout", timeout, "TIME", "give up after this time, such as 30m or 90 (seconds)");
  options.declare(cmd);
  cmd.positionals(words);
  if (const auto end = cmd.ends(arguments)) return *end;
  if (!timeout.empty()) {
    const auto limit = read_duration(timeout, Time(1'000'000));
    if (!limit) return usage_error(invalid("--timeout: {}", limit.error().what));
    timeout_s = seconds(*limit);
  }
  auto ids = read_ids(words);
  if (!ids) return usage_error(ids.error());
  auto client = options.connect();
  if (!client) return failure(client.error());
  if (words.empty()) {
    const auto active = all_jobs(*client, "state=active");
    if (!active) return failure(active.error());
    for (const Json& job : *active) ids->push_back(id_at(job, "id"));
  }
  int failed = 0;
  Json ended = Json::array();
  const auto over = wait_for(*client, *ids, timeout_s, [&](const Json& job) {
    failed += text_at(job, "state") != "done";
    if (options.json)
      ended.push_back(job);
    else
      fmt::print("{}\n", job_sentence(job, unix_seconds(unix_now())));
    std::fflush(stdout);
  });
  if (!over) return failure(over.error());
  if (options.json) print_json({{"jobs", ended}, {"all_final", *over}});
  if (!*over) return failure({Error::kTimeout, "timeout: some jobs have not ended; smartmig queue shows them"});
  return failed ? 1 : 0;
}

}  // namespace smartmig::cli
