#include "live/jobs/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "live/gpu/driver.h"

extern char** environ;

namespace smartmig {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    close(0);
    close(1);
  }
};

std::vector<std::string> merged_environment(const ProgramRun& run) {
  std::map<std::string, std::string> all;
  for (char** e = environ; e && *e; ++e) {
    const std::string entry = *e;
    const auto equals = entry.find('=');
    if (equals != entry.npos) all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  for (const auto& [name, value] : run.environment) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

}  // namespace

Result<ProgramResult> run_program(const ProgramRun& run) {
  Pipe in, out, failed;
  if (!in.open() || !out.open() || !failed.open()) return io_error("cannot create a pipe: {}", std::strerror(errno));
  const auto entries = merged_environment(run);
  std::vector<char*> environment, arguments;
  for (const std::string& e : entries) environment.push_back(const_cast<char*>(e.c_str()));
  for (const std::string& a : run.arguments) arguments.push_back(const_cast<char*>(a.c_str()));
  environment.push_back(nullptr);
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child = ::fork();
  if (child < 0) return io_error("cannot start {}: {}", run.arguments[0], std::strerror(errno));
  if (child == 0) {
    ::dup2(in.ends[0], 0);
    ::dup2(run.capture ? out.ends[1] : nowhere, 1);
    ::dup2(run.capture ? out.ends[1] : nowhere, 2);
    ::signal(SIGPIPE, SIG_DFL);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    const int code = errno;
    [[maybe_unused]] const auto told = ::write(failed.ends[1], &code, sizeof code);
    ::_exit(127);
  }
  if (nowhere >= 0) ::close(nowhere);
  in.close(0);
  out.close(1);
  failed.close(1);
  // The input is a line or two: it fits into the pipe. A program that does not read it must not kill us; the signal is
  // held back and taken for this thread alone, since others may be doing the same.
  sigset_t broken_pipe, before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  if (::write(in.ends[1], run.input.data(), run.input.size()) < 0 && errno == EPIPE) {
    const timespec at_once{};
    ::sigtimedwait(&broken_pipe, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  in.close(1);

  ProgramResult result;
  const auto deadline = std::chrono::steady_clock::now() + run.limit;
  bool reading = run.capture, ended = false;
  int status = 0;
  while (!ended || reading) {
    if (std::chrono::steady_clock::now() > deadline) {
      if (!ended) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
      }
      return timeout_error("{} did not end within {:.1f} s", run.arguments[0], seconds(run.limit));
    }
    pollfd poll{out.ends[0], POLLIN, 0};
    if (reading && ::poll(&poll, 1, 10) > 0) {
      char buffer[16384];
      const ssize_t n = ::read(out.ends[0], buffer, sizeof buffer);
      if (n > 0 && result.output.size() < run.most_output) result.output.append(buffer, std::size_t(n));
      if (n == 0) reading = false;
    }
    if (!ended && ::waitpid(child, &status, WNOHANG) == child) ended = true;
    if (!ended && !reading) ::usleep(2000);
  }
  int code = 0;
  if (::read(failed.ends[0], &code, sizeof code) == ssize_t(sizeof code))
    return not_found("cannot run {}: {}", run.arguments[0], std::strerror(code));
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace smartmig
