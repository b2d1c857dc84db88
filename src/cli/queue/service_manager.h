// Reports the daemon's state to the service manager that started it (systemd) with the manager's datagram protocol:
// ready, status, stopping. If there is a watchdog (WatchdogSec=), the daemon sends keep-alive messages; otherwise
// systemd replaces it. Does nothing without a service manager. Any thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/thread.h"

namespace smartmig::cli {

class ServiceManager {
 public:
  ServiceManager() = default;  // there is none
  // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which are taken out of the environment: jobs and hooks inherit
  // it and must not speak for the daemon. To be called while there is one thread.
  static ServiceManager of_environment();

  bool listens() const { return !socket_.empty(); }
  void tell(const std::string& state) const;  // "READY=1", "STATUS=words"; lines in one message belong together
  void tell_reloading() const;
  // How often to give a sign of life: half the watchdog's time, and every ten seconds for the sake of the words.
  std::chrono::microseconds beat() const;

 private:
  std::string socket_;
  std::chrono::microseconds watchdog_{0};  // 0: there is none
};

// Signs of life from a thread of their own, until destroyed. `status` answers with the words to show, or with nothing
// if there is no life; it may block as long as it likes, and no sign is given then.
class SignsOfLife {
 public:
  SignsOfLife() = default;
  Result<Ok> start(const ServiceManager& manager, std::function<std::string()> status);  // once
  ~SignsOfLife();
  SignsOfLife(const SignsOfLife&) = delete;
  SignsOfLife& operator=(const SignsOfLife&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;  // guarded
  std::thread thread_;
};

}  // namespace smartmig::cli
