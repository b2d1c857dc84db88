// Ensures one active instance: only the holder of the Lease may write. The holder renews it. A Lease that cannot be
// renewed counts as lost here before it expires for others; the margin is the longest time that a write may take. Any
// thread.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "kubernetes/kube_api.h"
#include "live/live_clock.h"

namespace smartmig {

class KubeLease {
 public:
  struct Options {
    std::string space = "smartmig", name = "smartmig", holder;  // holder: differs between instances
    Time length{15'000'000}, each{3'000'000}, margin{7'000'000};
    std::function<void(const std::string&)> say;
  };
  KubeLease(KubeApi& api, LiveClock& clock, Options options);
  ~KubeLease();  // gives it back
  bool held() const;

 private:
  void run();
  void renew();
  KubeApi& api_;
  LiveClock& clock_;
  const Options options_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::string seen_;  // the Lease as others last wrote it, and since when it has been so by the local clock
  std::int64_t seen_at_ms_ = 0, held_until_ms_ = 0;
  bool stop_ = false, was_held_ = false;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace smartmig
