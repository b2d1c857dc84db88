#include "cli/queue/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/text.h"

namespace smartmig::cli {
namespace {

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string out = value ? value : "";
  ::unsetenv(name);
  return out;
}

}  // namespace

ServiceManager ServiceManager::of_environment() {
  ServiceManager out;
  out.socket_ = take_variable("NOTIFY_SOCKET");
  const auto time = parse_int(take_variable("WATCHDOG_USEC"));
  const auto pid = parse_int(take_variable("WATCHDOG_PID"));
  if (out.socket_.size() >= sizeof(sockaddr_un::sun_path)) out.socket_.clear();
  if (time && *time > 0 && (!pid || *pid == ::getpid())) out.watchdog_ = std::chrono::microseconds(*time);
  return out;
}

void ServiceManager::tell(const std::string& state) const {
  if (!listens()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // a name without a file
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const auto sent =
      ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), length);
  ::close(fd);
}

void ServiceManager::tell_reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1'000'000LL + now.tv_nsec / 1'000));
}

std::chrono::microseconds ServiceManager::beat() const {
  const std::chrono::microseconds words = std::chrono::seconds(10);
  return watchdog_.count() > 0 ? std::min(words, std::max(watchdog_ / 2, std::chrono::microseconds(1000))) : words;
}

Result<Ok> SignsOfLife::start(const ServiceManager& manager, std::function<std::string()> status) {
  if (!manager.listens()) return Ok{};
  SMARTMIG_TRY(thread_, start_thread("signs of life", [this, manager, status = std::move(status)] {
                 for (std::unique_lock lock(mutex_); !end_;
                      ended_.wait_for(lock, manager.beat(), [this] { return end_; })) {
                   lock.unlock();
                   if (const std::string words = status(); !words.empty()) manager.tell("WATCHDOG=1\nSTATUS=" + words);
                   lock.lock();
                 }
               }));
  return Ok{};
}

SignsOfLife::~SignsOfLife() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace smartmig::cli
