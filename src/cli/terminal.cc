#include "cli/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/errors.h"
#include "base/text.h"

namespace smartmig::cli {
namespace {

termios terminal_before;                   // valid while `terminal_taken`
volatile sig_atomic_t terminal_taken = 0;  // read by handlers
volatile sig_atomic_t asked = 0;           // to end
volatile sig_atomic_t stop = 0;            // Ctrl-Z
struct sigaction old_actions[NSIG];

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kCrashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void write_all(const char* text, std::size_t size) {  // safe in a handler
  while (size > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, text, size);
    if (written < 0 && errno != EINTR) return;
    if (written <= 0) continue;
    text += written;
    size -= std::size_t(written);
  }
}

void take() {
  termios raw = terminal_before;
  raw.c_lflag &= tcflag_t(~(ICANON | ECHO));
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  terminal_taken = 1;
  const char* text = "\x1b[?1049h\x1b[?25l\x1b[2J";
  write_all(text, std::strlen(text));
}

void give() {
  if (!terminal_taken) return;
  terminal_taken = 0;
  constexpr char text[] = "\x1b[0m\x1b[?25h\x1b[?1049l";
  write_all(text, sizeof text - 1);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

void on_ending(int signal) { asked = signal; }
void on_stop(int) { stop = 1; }
void on_size(int) {}
void on_crash(int signal) {
  give();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, &old_actions[signal]);
}

}  // namespace

Result<Terminal> Terminal::open() {
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO) || ::tcgetattr(STDIN_FILENO, &terminal_before) != 0)
    return unsupported("standard input and output are not a terminal; use --once to print one frame");
  asked = 0;
  stop = 0;
  for (const int signal : kEnding) handle(signal, on_ending);
  for (const int signal : kCrashing) handle(signal, on_crash);
  handle(SIGTSTP, on_stop);
  handle(SIGWINCH, on_size);
  std::atexit(give);
  take();
  return Terminal();
}

Terminal::~Terminal() {
  if (!held_) return;
  give();
  for (const int signal : kEnding) ::sigaction(signal, &old_actions[signal], nullptr);
  for (const int signal : kCrashing) ::sigaction(signal, &old_actions[signal], nullptr);
  for (const int signal : {SIGTSTP, SIGWINCH}) ::sigaction(signal, &old_actions[signal], nullptr);
}

Terminal::Key Terminal::wait_key(double seconds) {
  if (asked) return Key::kEnded;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&input, 1, int(seconds * 1000) + 1);
  if (asked) return Key::kEnded;
  if (stop) {
    stop = 0;
    give();
    ::raise(SIGSTOP);
    take();
    return Key::kNone;
  }
  if (ready <= 0) return Key::kNone;
  char bytes[16];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return Key::kEnded;
  if (count < 0) return Key::kNone;
  const std::string_view keys(bytes, std::size_t(count));
  if (keys[0] == 'q' || keys[0] == 'Q') return Key::kQuit;
  if (keys[0] == ' ') return Key::kSpace;
  if (keys[0] == 'p') return Key::kPause;
  if (keys == "\x1b[A" || keys == "\x1bOA" || keys == "k") return Key::kUp;
  if (keys == "\x1b[B" || keys == "\x1bOB" || keys == "j") return Key::kDown;
  if (keys == "\x1b[C" || keys == "\x1bOC" || keys == "l") return Key::kRight;
  if (keys == "\x1b[D" || keys == "\x1bOD" || keys == "h") return Key::kLeft;
  if (keys == "\x1b[5~") return Key::kPageUp;
  if (keys == "\x1b[6~") return Key::kPageDown;
  return Key::kOther;
}

void Terminal::show(const std::string& frame) { write_all(frame.data(), frame.size()); }

TerminalSize terminal_size() {
  TerminalSize out;
  winsize size{};
  if (::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {size.ws_col, size.ws_row};
  const auto variable = [](const char* name, int& target) {
    const char* text = std::getenv(name);
    const auto number = text ? parse_int(text) : std::nullopt;
    if (number && *number >= 1 && *number <= 10'000) target = int(*number);
  };
  variable("COLUMNS", out.width);
  variable("LINES", out.height);
  return out;
}

}  // namespace smartmig::cli
