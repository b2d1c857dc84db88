// Events of pods, which `kubectl describe pod` shows. A separate thread writes them, because nobody waits for them. If
// there are too many, the oldest are dropped. Any thread.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "kubernetes/kube_api.h"
#include "kubernetes/kube_objects.h"
#include "live/live_clock.h"

namespace smartmig {

class KubeEvents {
 public:
  KubeEvents(KubeApi& api, LiveClock& clock, std::string host);
  ~KubeEvents();
  // `reason`: "Waiting", "Placed". `uid`: of the pod.
  void tell(const std::string& space, const std::string& pod, const std::string& uid, const char* reason,
            const std::string& words);

 private:
  void run();
  static constexpr std::size_t kMost = 2'000;
  KubeApi& api_;
  LiveClock& clock_;
  const std::string host_;
  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::deque<Json> waiting_;
  std::uint64_t count_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace smartmig
