// SIGTERM and SIGINT set a flag and wake the owner of a clock. Servers check the flag between two steps. A separate
// thread waits for the signals, so no handler interrupts anything. Create it before any other threads.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace smartmig::cli {

class StopSignal {
 public:
  StopSignal() {
    sigemptyset(&set_);
    for (const int s : {SIGTERM, SIGINT, SIGUSR2}) sigaddset(&set_, s);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGPIPE, SIG_IGN);
  }
  // `wake`: called once a signal has come, on another thread.
  void watch(std::function<void()> wake) {
    thread_ = std::thread([this, wake = std::move(wake)] {
      int got = 0;
      if (sigwait(&set_, &got) != 0 || got == SIGUSR2) return;
      stop_ = true;
      wake();
    });
  }
  ~StopSignal() {
    if (!thread_.joinable()) return;
    pthread_kill(thread_.native_handle(), SIGUSR2);
    thread_.join();
  }
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  sigset_t set_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace smartmig::cli
