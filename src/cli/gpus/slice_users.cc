#include "cli/gpus/slice_users.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"

extern char** environ;

namespace smartmig::cli {
namespace {

constexpr int kProbePatienceMs = 30'000;  // the driver compiles its kernel at first
constexpr unsigned int kStandInToken = 1;

// Ours, with the slice's variables in place of what they were.
std::vector<std::string> environment_with(const Environment& more) {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string_view entry = *at;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [key, value] : more) replaced |= key == name;
    if (!replaced) out.emplace_back(entry);
  }
  for (const auto& [key, value] : more) out.push_back(key + "=" + value);
  return out;
}

}  // namespace

Result<Ok> ProbeUser::start(const Instance&, const Environment& environment) {
  stop();
  int words[2], end[2];
  if (::pipe2(words, O_CLOEXEC) != 0) return io_error("cannot create a pipe: {}", std::strerror(errno));
  if (::pipe2(end, O_CLOEXEC) != 0) {
    ::close(words[0]);
    ::close(words[1]);
    return io_error("cannot create a pipe: {}", std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, end[0], 0);
  posix_spawn_file_actions_adddup2(&actions, words[1], 1);
  auto variables = environment_with(environment);
  std::vector<char*> list;
  for (std::string& variable : variables) list.push_back(variable.data());
  list.push_back(nullptr);
  char program[] = "smartmig", verb[] = "slice-probe";
  char* arguments[] = {program, verb, nullptr};
  const int failed = ::posix_spawn(&child_, "/proc/self/exe", &actions, nullptr, arguments, list.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(words[1]);
  ::close(end[0]);
  words_ = words[0];
  end_ = end[1];
  if (failed != 0) {
    child_ = -1;
    stop();
    return io_error("cannot start a program for the slice: {}", std::strerror(failed));
  }
  SMARTMIG_TRY(const std::string first, line());
  const auto figures = split(first, ' ');
  if (figures.size() != 4 || figures[0] != "ready") {
    stop();
    return io_error("the program on the slice: {}", first);
  }
  const auto figure = [&](std::size_t i) { return int(parse_int(figures[i]).value_or(0)); };
  seen_ = {figure(1), figure(2), figure(3), 0};
  return Ok{};
}

Result<std::string> ProbeUser::line() {
  for (;;) {
    if (const auto at = rest_.find('\n'); at != rest_.npos) {
      const std::string first = rest_.substr(0, at);
      rest_.erase(0, at + 1);
      return first;
    }
    pollfd polled{words_, POLLIN, 0};
    char buffer[4096];
    const ssize_t n =
        words_ >= 0 && ::poll(&polled, 1, kProbePatienceMs) > 0 ? ::read(words_, buffer, sizeof buffer) : -1;
    if (n <= 0) return io_error("the program on the slice {}", n == 0 ? "has ended" : "does not answer");
    rest_.append(buffer, std::size_t(n));
  }
}

Result<SliceUser::Seen> ProbeUser::look() {
  SMARTMIG_TRY(std::string last, line());
  while (rest_.find('\n') != rest_.npos) {
    SMARTMIG_TRY(last, line());
  }
  const auto words = split(last, ' ');
  if (words.size() != 2 || words[0] != "did") return io_error("the program on the slice: {}", last);
  seen_.progress = double(parse_int(words[1]).value_or(0));
  return seen_;
}

void ProbeUser::stop() {
  for (int* fd : {&words_, &end_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  rest_.clear();
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  for (int i = 0; i < 100 && child_ > 0; ++i) {
    if (::waitpid(child_, nullptr, WNOHANG) == child_) child_ = -1;
    if (child_ > 0) ::usleep(20'000);
  }
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

Result<Ok> StandInUser::start(const Instance& instance, const Environment&) {
  stop();
  if (const auto code = sim_->nvmlSimStandIn(instance.uuid.c_str(), "", kStandInToken); code != NVML_SUCCESS)
    return sim_->error(code, "a stand-in on the slice");
  uuid_ = instance.uuid;
  return Ok{};
}

Result<SliceUser::Seen> StandInUser::look() {
  nvmlSimSlice_t slice{};
  if (const auto code = sim_->nvmlSimGetSlice(uuid_.c_str(), &slice); code != NVML_SUCCESS)
    return sim_->error(code, "the slice of a stand-in");
  unsigned long long now = 0;
  sim_->nvmlSimNow(&now);
  return Seen{1, 0, int(slice.memoryBytes >> 20), double(now)};
}

void StandInUser::stop() {
  if (!uuid_.empty()) sim_->nvmlSimStandDown(kStandInToken);
  uuid_.clear();
}

}  // namespace smartmig::cli
