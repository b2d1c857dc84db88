#include "live/jobs/signal_names.h"

#include <csignal>

#include "base/text.h"

namespace smartmig {
namespace {

struct Row {
  const char* name;
  int number;
};
constexpr Row kSignals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},  {"ABRT", SIGABRT}, {"KILL", SIGKILL}, {"SEGV", SIGSEGV},
    {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"ILL", SIGILL},    {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"CONT", SIGCONT},  {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"URG", SIGURG},
    {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"WINCH", SIGWINCH}};

}  // namespace

std::optional<int> signal_number(std::string_view name) {
  if (const auto number = parse_int(name)) {
    if (*number < 1 || *number > 64) return std::nullopt;
    return int(*number);
  }
  std::string_view word = name;
  if (lower(word.substr(0, 3)) == "sig") word.remove_prefix(3);
  for (const Row& row : kSignals)
    if (lower(word) == lower(row.name)) return row.number;
  return std::nullopt;
}

std::string signal_name(int number) {
  for (const Row& row : kSignals)
    if (row.number == number) return row.name;
  return std::to_string(number);
}

}  // namespace smartmig
