#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/rng.h"
#include "bench.h"

extern char** environ;

namespace smartmig::bench {

Usage usage_of(pid_t pid) {
  const std::string folder = pid == 0 ? "/proc/self" : fmt::format("/proc/{}", pid);
  Usage usage;
  std::ifstream stat(folder + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int i = 3; i <= 15 && fields >> field; ++i)
    if (i == 14 || i == 15) usage.cpu_s += std::stod(field) / double(::sysconf(_SC_CLK_TCK));
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) usage.rss_mb = std::stod(line.substr(6)) * 1024 / 1e6;
  return usage;
}

int connect_to(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) return -1;
  socket.copy(address.sun_path, socket.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

Serving::Serving(const std::string& directory, std::vector<std::string> arguments)
    : socket_(directory + "/bench.sock") {
  std::filesystem::create_directories(directory);
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string program = (here / "smartmig").string();
  std::vector<std::string> words = {program, "serve", "--quiet", "--state", directory, "--socket", socket_};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, argv.data(), environ) != 0) {
    fmt::print(stderr, "cannot start {}\n", program);
    return;
  }
  for (int i = 0; i < 1000 && !up_; ++i) {
    if (const int fd = connect_to(socket_); fd >= 0) {
      ::close(fd);
      up_ = true;
    } else if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      fmt::print(stderr, "smartmig serve ended at once\n");
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Serving::~Serving() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

std::unique_ptr<DaemonHost> emulated(const std::string& directory, const std::string& policy, Time sample) {
  DaemonHostOptions options;
  options.settings.places.driver = "emulate:8xa100-40gb";
  options.settings.places.state_dir = directory;
  options.settings.policy.name = policy;
  options.settings.energy.sample = sample;
  options.clock = "virtual";
  options.in_process = true;
  options.emulation_seed = 7;
  auto host = DaemonHost::open(std::move(options));
  if (!host) {
    fmt::print(stderr, "{}\n", host.error().what);
    return nullptr;
  }
  return std::move(*host);
}

JobSpec some_job(std::uint64_t number) {
  static const char* kinds[] = {"bert-train", "resnet50-infer", "linear", "bert-train-8", "sublinear", ""};
  Rng rng(number, 5);
  JobSpec spec;
  spec.command = {"python3", "train.py", "--run", std::to_string(number % 50)};
  spec.directory = "/srv/project";
  spec.environment = {"HOME=/srv", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"};
  spec.kind = kinds[rng.below(std::size(kinds))];
  spec.estimate = from_seconds(60 + rng.exponential(300));
  if (rng.below(20) == 0) spec.min_slices = 7;
  return spec;
}

}  // namespace smartmig::bench
