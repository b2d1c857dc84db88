#include "cli/gpus/private_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/errors.h"
#include "base/file.h"
#include "base/text.h"

namespace smartmig::cli {
namespace {

constexpr int kStartSteps = 1200, kStopSteps = 300;  // of 50 ms: slices of a real GPU take their time

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

}  // namespace

Result<PrivateDaemon> PrivateDaemon::prepare(std::vector<std::string> options) {
  std::error_code failed;
  std::string folder = (std::filesystem::temp_directory_path(failed) / "smartmig-XXXXXX").string();
  if (failed || !::mkdtemp(folder.data()))
    return io_error("cannot create a temporary directory {}: {}", folder, std::strerror(errno));
  return PrivateDaemon(std::move(folder), std::move(options));
}

PrivateDaemon::PrivateDaemon(PrivateDaemon&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      options_(std::move(other.options_)),
      child_(std::exchange(other.child_, -1)) {}

PrivateDaemon::~PrivateDaemon() {
  stop();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void PrivateDaemon::stop() {
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  for (int step = 0;; ++step) {
    if (::waitpid(child_, nullptr, WNOHANG) != 0) break;
    if (step == kStopSteps) ::kill(child_, SIGKILL);
    nap();
  }
  child_ = -1;
}

Result<HttpClient> PrivateDaemon::connect() const {
  ClientTarget target;
  target.socket = folder_ + "/socket";
  return HttpClient::open(target);
}

Result<HttpClient> PrivateDaemon::start(const std::string& config) {
  stop();
  const std::string file = folder_ + "/serve.toml", socket = folder_ + "/socket", log = folder_ + "/serve.log";
  SMARTMIG_RETURN_IF_ERROR(write_file(file, config));
  std::vector<std::string> words{"smartmig", "serve",   "--config",         file,     "--socket",
                                 socket,     "--state", folder_ + "/state", "--quiet"};
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  // Of a group of its own and with no signal blocked: an interrupt of ours reaches it through stop() alone.
  posix_spawnattr_t ways;
  posix_spawnattr_init(&ways);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&ways, &none);
  posix_spawnattr_setpgroup(&ways, 0);
  posix_spawnattr_setflags(&ways, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int problem = ::posix_spawn(&child_, "/proc/self/exe", &files, &ways, arguments.data(), ::environ);
  posix_spawnattr_destroy(&ways);
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) {
    child_ = -1;
    return io_error("cannot start a daemon: {}", std::strerror(problem));
  }
  SMARTMIG_TRY(HttpClient client, connect());
  for (int step = 0; step < kStartSteps; ++step) {
    if (::waitpid(child_, nullptr, WNOHANG) != 0) {
      child_ = -1;
      const auto said = read_file(log);
      return io_error("the daemon for this measurement ended: {}",
                      said ? std::string(trim(*said)) : "it printed nothing");
    }
    if (client.get("/readyz")) return client;
    nap();
  }
  stop();
  return timeout_error("the daemon for this measurement accepted no jobs within a minute");
}

}  // namespace smartmig::cli
