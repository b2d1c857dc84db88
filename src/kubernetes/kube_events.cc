#include "kubernetes/kube_events.h"

namespace smartmig {

KubeEvents::KubeEvents(KubeApi& api, LiveClock& clock, std::string host)
    : api_(api), clock_(clock), host_(std::move(host)), thread_([this] { run(); }) {}

KubeEvents::~KubeEvents() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void KubeEvents::tell(const std::string& space, const std::string& pod, const std::string& uid, const char* reason,
                      const std::string& words) {
  const std::string now = kube_time(clock_.now());
  const std::lock_guard lock(mutex_);
  Json event = {{"apiVersion", "events.k8s.io/v1"},
                {"kind", "Event"},
                {"eventTime", now},
                {"reportingController", "smartmig"},
                {"reportingInstance", host_},
                {"type", "Normal"},
                {"reason", reason},
                {"action", reason},
                {"note", valid_utf8(words.substr(0, 1000))}};
  event["metadata"] = {
      {"namespace", space},
      {"name", fmt::format("{}.{:x}{:04x}", pod.substr(0, 200), unix_us(clock_.now()), count_++ % 65536)}};
  event["regarding"] = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"namespace", space}, {"name", pod}, {"uid", uid}};
  waiting_.push_back(std::move(event));
  if (waiting_.size() > kMost) waiting_.pop_front();
  wake_.notify_all();
}

void KubeEvents::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const Json event = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const std::string space = event["metadata"]["namespace"];
    (void)api_.ask("POST", fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", space), event);  // or it is lost
    lock.lock();
  }
}

}  // namespace smartmig
