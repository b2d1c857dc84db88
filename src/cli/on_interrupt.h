// During its lifetime, SIGINT, SIGTERM and SIGHUP do not end the program. The first signal calls `act` on a separate
// thread, so that the program can finish or undo its work. A second signal ends the program at once.
#pragma once
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace smartmig::cli {

class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> act) : act_(std::move(act)) {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&set_, signal);  // SIGUSR2: ours, the end
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    watcher_ = std::thread([this] { watch(); });
  }
  ~OnInterrupt() {
    over_ = true;
    pthread_kill(watcher_.native_handle(), SIGUSR2);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;
  int signal() const { return signal_; }  // 0: none came

 private:
  void watch() {
    for (int signal = 0; sigwait(&set_, &signal) == 0;) {
      if (over_) return;
      if (signal == SIGUSR2) continue;
      if (signal_) _exit(128 + signal);
      signal_ = signal;
      act_();
    }
  }
  std::function<void()> act_;
  sigset_t set_{}, before_{};
  std::atomic<bool> over_{false};
  std::atomic<int> signal_{0};
  std::thread watcher_;
};

}  // namespace smartmig::cli
