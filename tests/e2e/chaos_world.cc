#include "chaos_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "cli/queue/http_client.h"
#include "live/jobs/run_program.h"

namespace smartmig::chaos {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const Programs& programs() {
  static const Programs all = {CHAOS_SMARTMIG, CHAOS_JOB, CHAOS_EMULATED_JOB, CHAOS_CONTROL, CHAOS_CUDA};
  return all;
}

void Ledger::submitted(Submission submission) {
  const std::lock_guard lock(mutex_);
  submissions_.push_back(std::move(submission));
}

void Ledger::cancelled(std::uint64_t job, bool granted) {
  const std::lock_guard lock(mutex_);
  Wishes& wishes = wishes_[job];
  ++wishes.cancels;
  wishes.cancels_granted += granted;
  wishes.requeued_last = false;
}

void Ledger::requeued(std::uint64_t job) {
  const std::lock_guard lock(mutex_);
  Wishes& wishes = wishes_[job];
  ++wishes.requeues;
  wishes.requeued_last = true;
}

std::vector<Submission> Ledger::submissions() const {
  const std::lock_guard lock(mutex_);
  return submissions_;
}

std::map<std::uint64_t, Wishes> Ledger::wishes() const {
  const std::lock_guard lock(mutex_);
  return wishes_;
}

ChaosWorld::ChaosWorld(std::uint64_t seed) : seed_(seed) {
  fs::create_directories(evidence());
  dir_.file("config.toml",
            "[energy]\nsample = \"0.5s\"\n[defaults]\nestimate = \"2s\"\n[prelaunch]\njobs = 6\n[host]\ncpus = 24\n");
}

ChaosWorld::~ChaosWorld() {
  if (daemon_ > 0) kill();
  for (const std::string& line : processes()) ::kill(pid_t(std::atoi(line.c_str())), SIGKILL);
}

void ChaosWorld::start(int kill_at) {
  std::vector<std::string> arguments = {"smartmig", "serve",  "--emulate", "4xa100-40gb",           "--state", state(),
                                        "--socket", socket(), "--config",  root() + "/config.toml", "--quiet"};
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  if (kill_at > 0) environment.push_back(fmt::format("SMARTMIG_TEST_KILL_AT={}", kill_at));
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, log().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = ::posix_spawn(&daemon_, programs().smartmig.c_str(), &actions, nullptr, pointers(arguments).data(),
                                  pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  SMARTMIG_CHECK(error == 0, "{} cannot be started: {}", programs().smartmig, std::strerror(error));
}

bool ChaosWorld::reap(double within_s) {
  if (daemon_ <= 0) return true;
  const auto until = Clock::now() + std::chrono::duration<double>(within_s);
  for (;;) {
    int status = 0;
    if (::waitpid(daemon_, &status, WNOHANG) == daemon_) {
      daemon_ = -1;
      const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      failed_ = !killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      return true;
    }
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool ChaosWorld::answers(double within_s) {
  const auto until = Clock::now() + std::chrono::duration<double>(within_s);
  while (Clock::now() < until) {
    if (reap(0)) return false;
    if (call(*this, "GET", "/readyz")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool ChaosWorld::ended(double within_s) { return reap(within_s); }

void ChaosWorld::kill() {
  if (daemon_ <= 0) return;
  ::kill(daemon_, SIGKILL);
  reap(60);
}

bool ChaosWorld::terminate(double within_s) {
  if (daemon_ <= 0) return false;
  ::kill(daemon_, SIGTERM);
  if (reap(within_s)) return !failed_;
  kill();
  return false;
}

Result<std::string> ChaosWorld::control(std::vector<std::string> arguments) const {
  ProgramRun run;
  run.arguments = std::move(arguments);
  run.arguments.insert(run.arguments.begin(), programs().control);
  run.arguments.insert(run.arguments.begin() + 2, machine());
  SMARTMIG_TRY(ProgramResult result, run_program(run));
  if (result.status != 0) return io_error("{}: {}", fmt::join(run.arguments, " "), result.output);
  return std::move(result.output);
}

std::vector<std::string> ChaosWorld::processes() const {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != pid.npos || pid == std::to_string(::getpid())) continue;
    std::string command = text_of(entry.path() / "cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    bool ours = command.find(root()) != command.npos;
    if (!ours)
      for (const auto& open : fs::directory_iterator(entry.path() / "fd", error)) {
        const std::string target = fs::read_symlink(open.path(), error).string();
        if ((ours = target.starts_with(root()))) break;
      }
    if (ours) out.push_back(pid + " " + command);
  }
  return out;
}

Result<Json> call(const ChaosWorld& world, const std::string& method, const std::string& path, const Json& body,
                  double timeout_s) {
  ClientTarget target;
  target.socket = world.socket();
  target.timeout_s = timeout_s;
  SMARTMIG_TRY(HttpClient client, HttpClient::open(std::move(target)));
  if (method == "GET") return client.get(path);
  if (method == "DELETE") return client.remove(path);
  return client.post(path, body.is_null() ? Json::object() : body);
}

}  // namespace smartmig::chaos
