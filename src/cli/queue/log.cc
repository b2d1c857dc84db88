// smartmig log and wait: what a job wrote, and how it ended.
#include <fmt/format.h>

#include <deque>

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
      "log", "JOB",
      "Prints what a job wrote (standard output and error together); a last line on standard error says how it stands "
      "and\nits joules, attributed.",
      "smartmig log -f 12");
  cmd.flag("--follow", follow, "go on until the job is final").alias("-f");
  cmd.option("--attempt-no", attempt, "N", "of an earlier attempt; 0: the last one").also("--attempt");
  cmd.option("--lines", tail, "N", "the last N lines only; 0: all").alias("-n");
  options.declare(cmd);
  cmd.positional(word);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
  const auto ids = read_ids({word});
  if (!ids || ids->size() != 1) return usage_error(ids ? invalid("log shows one job at a time") : ids.error());
  if (attempt < 0 || tail < 0 || tail > 1'000'000)
    return usage_error(invalid("--attempt-no and --lines are not negative, and --lines at most 1000000"));
  auto client = options.connect();
  if (!client) return failure(client.error());
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
      "Waits until the jobs are final, one line for each as it ends; without JOB: all active jobs. The exit code is 0 "
      "only\nif all succeeded, 1 if one did not or the time was over.",
      "smartmig wait 12 14-17 --timeout 30m");
  cmd.option("--timeout", timeout, "TIME", "give up after this long: 30m, 90 (seconds)");
  options.declare(cmd);
  cmd.positionals(words);
  const auto parsed = cmd.parse(arguments);
  if (!parsed) return usage_error(parsed.error());
  if (*parsed == Command::Outcome::kHelpShown) return 0;
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
  if (!*over)
    return failure({Error::kTimeout, "the time is over and some jobs are not final; smartmig queue shows them"});
  return failed ? 1 : 0;
}

}  // namespace smartmig::cli
