// smartmig top: show GPUs, slices, power and the queue in the terminal or as one frame.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/printable.h"
#include "base/text.h"
#include "cli/queue/daemon_options.h"
#include "cli/queue/top_view.h"
#include "cli/terminal.h"
#include "cli/time_words.h"
#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kHistory = 600, kJobsShown = 5000;

Result<TopState> look_at_daemon(DaemonClient& client) {
  TopState state;
  SMARTMIG_TRY(const Json gpus, client.get("/v1/gpus"));
  state.gpus = list_at(gpus, "gpus");
  SMARTMIG_TRY(state.jobs, all_jobs(client, "state=active", kJobsShown));
  SMARTMIG_TRY(state.status, client.get("/v1/status"));
  return state;
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      const std::string text = lower(value);
      return text.find("utf-8") != text.npos || text.find("utf8") != text.npos;
    }
  return false;
}

const char* code_of(Style style) {
  switch (style) {
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kBusy:
      return "\x1b[30;42m";
    case Style::kIdle:
      return "\x1b[36m";
    case Style::kLeaving:
      return "\x1b[30;43m";
    case Style::kComing:
      return "\x1b[34m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kPlain:
      break;
  }
  return "";
}

std::string painted(const std::vector<Line>& lines, bool colour) {
  std::string out = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i) out += "\r\n";
    for (const Span& span : lines[i]) {
      const char* code = colour ? code_of(span.style) : "";
      out += code + span.text + (*code ? "\x1b[0m" : "");
    }
    out += "\x1b[K";
  }
  return out + "\x1b[J";
}

class View {
 public:
  View(DaemonClient& client, TopState state, double interval_s)
      : client_(client), state_(std::move(state)), interval_s_(interval_s) {
    frame_.unicode = speaks_utf8();
    remember();
  }

  Result<Ok> run() {
    SMARTMIG_TRY(Terminal terminal, Terminal::open());
    const bool colour = !std::getenv("NO_COLOR");
    using Clock = std::chrono::steady_clock;
    auto next = Clock::now() + std::chrono::duration<double>(interval_s_);
    for (;;) {
      const TerminalSize size = terminal_size();
      frame_.width = size.width;
      frame_.height = size.height;
      if (!frame_.frozen) frame_.now = unix_seconds(unix_now());
      terminal.show(painted(top_lines(state_, frame_), colour));
      const double left = std::chrono::duration<double>(next - Clock::now()).count();
      const Terminal::Key key = left > 0 ? terminal.wait_key(left) : Terminal::Key::kNone;
      if (key == Terminal::Key::kQuit || key == Terminal::Key::kEnded) return Ok{};
      if (key != Terminal::Key::kNone) press(key);
      if (Clock::now() < next) continue;
      next = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s_));
      if (!frame_.frozen) refresh();
    }
  }

 private:
  void remember() {
    frame_.watts.push_back(number_at(state_.status, "watts_w").value_or(0));
    if (frame_.watts.size() > kHistory) frame_.watts.erase(frame_.watts.begin());
  }

  void refresh() {
    auto state = look_at_daemon(client_);
    if (!state) {
      frame_.message = printable(state.error().what);
      return;
    }
    if (!asking_) frame_.message.clear();
    state_ = std::move(*state);
    remember();
  }

  void press(Terminal::Key key) {
    using Key = Terminal::Key;
    const int jobs = int(state_.jobs.size()), gpus = int(state_.gpus.size()), page = std::max(1, frame_.height / 2);
    const auto move = [](int& at, int by, int most) { at = std::clamp(at + by, 0, std::max(0, most - 1)); };
    const bool was_asking = std::exchange(asking_, false);
    if (was_asking) frame_.message.clear();
    if (key == Key::kSpace) frame_.frozen = !frame_.frozen;
    if (key == Key::kUp) move(frame_.first_job, -1, jobs);
    if (key == Key::kDown) move(frame_.first_job, 1, jobs);
    if (key == Key::kPageUp) move(frame_.first_job, -page, jobs);
    if (key == Key::kPageDown) move(frame_.first_job, page, jobs);
    if (key == Key::kLeft) move(frame_.first_gpu, -1, gpus);
    if (key == Key::kRight) move(frame_.first_gpu, 1, gpus);
    if (key == Key::kPause) pause_queue(was_asking);
  }

  void pause_queue(bool confirmed) {
    const bool paused = yes_at(state_.status, "paused");
    if (!confirmed) {
      asking_ = true;
      frame_.message = paused ? "press p again to resume the queue" : "press p again to pause the queue for all users";
      return;
    }
    const auto done = client_.post(paused ? "/v1/queue/resume" : "/v1/queue/pause", Json::object());
    if (!done)
      frame_.message = printable(done.error().what);
    else
      refresh();
  }

  DaemonClient& client_;
  TopState state_;
  TopFrame frame_;
  double interval_s_;
  bool asking_ = false;
};

}  // namespace

int run_top(const Arguments& arguments) {
  DaemonOptions options;
  bool once = false;
  std::string interval = "1s";
  Command cmd(
      "top", "",
      "Shows the GPUs as rows of slices, with their power and the queue, and refreshes the display. Boxes: |12 train===| is busy, |idle | is free, |12 train~~~| is destroyed when its job ends, |+3g.20gb+++| is being created, and |......| has no instance. Keys: q quits, space freezes the display, p pressed twice pauses or resumes the queue, and the arrow keys scroll. Without a terminal, use --once.",
      "smartmig top --once");
  cmd.flag("--once", once, "print one frame as text, in the size of the terminal, of COLUMNS and LINES, or of 80 x 24");
  cmd.option("--interval", interval, "TIME", "time between refreshes: 1s, 0.5s");
  options.declare(cmd);
  if (const auto end = cmd.ends(arguments)) return *end;
  const auto every = read_duration(interval, Time(1'000'000));
  if (!every) return usage_error(invalid("--interval: {}", every.error().what));
  auto client = options.connect();
  if (!client) return failure(client.error());
  auto state = look_at_daemon(*client);
  if (!state) return failure(state.error());
  if (options.json) {
    print_json({{"gpus", state->gpus}, {"jobs", state->jobs}, {"status", state->status}});
    return 0;
  }
  if (once || !::isatty(STDOUT_FILENO) || !::isatty(STDIN_FILENO)) {
    const TerminalSize size = terminal_size();
    TopFrame frame;
    frame.width = size.width;
    frame.height = size.height;
    frame.now = unix_seconds(unix_now());
    frame.unicode = speaks_utf8();
    frame.watts = {number_at(state->status, "watts_w").value_or(0)};
    frame.message = " ";  // no keys to press
    fmt::print("{}", plain_text(top_lines(*state, frame)));
    return 0;
  }
  const auto ended = View(*client, std::move(*state), std::max(0.1, seconds(*every))).run();
  return ended ? 0 : failure(ended.error());
}

}  // namespace smartmig::cli
