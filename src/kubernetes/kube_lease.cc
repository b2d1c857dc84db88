#include "kubernetes/kube_lease.h"

#include <chrono>

#include "base/errors.h"
#include "kubernetes/kube_objects.h"

namespace smartmig {
namespace {

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

KubeLease::KubeLease(KubeApi& api, LiveClock& clock, Options options)
    : api_(api), clock_(clock), options_(std::move(options)), thread_([this] { run(); }) {}

KubeLease::~KubeLease() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (!held()) return;
  const std::string path =
      fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", options_.space, options_.name);
  auto lease = api_.ask("GET", path);
  if (!lease || !lease->good() || text_below(lease->body, {"spec", "holderIdentity"}) != options_.holder) return;
  lease->body["spec"]["holderIdentity"] = "";
  (void)api_.ask("PUT", path, lease->body);  // else it runs out
}

bool KubeLease::held() const {
  const std::lock_guard lock(mutex_);
  return steady_ms() < held_until_ms_;
}

void KubeLease::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    renew();
    lock.lock();
    const bool holds = steady_ms() < held_until_ms_;
    if (holds != was_held_ && options_.say)
      options_.say(holds ? "this instance is active"
                         : "this instance is not active" + (trouble_.empty() ? "" : ": " + trouble_));
    if (holds != was_held_) clock_.wake();
    was_held_ = holds;
    wake_.wait_for(lock, std::chrono::microseconds(options_.each.count()), [&] { return stop_; });
  }
}

// Another holder's time is up when its Lease has not changed for its length by the clock here: clocks may differ.
void KubeLease::renew() {
  const std::string all = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", options_.space);
  const std::string path = all + "/" + options_.name;
  const std::int64_t asked = steady_ms();
  const auto lost = [&](const std::string& words) {
    const std::lock_guard lock(mutex_);
    trouble_ = words;
  };
  const auto read = api_.ask("GET", path);
  if (!read) return lost(read.error().what);
  Json lease = read->body;
  const bool none = read->status == 404;
  if (!none && !read->good()) return lost(read->words());
  if (none) {
    lease = {{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}};
    lease["metadata"] = {{"namespace", options_.space}, {"name", options_.name}};
    lease["spec"] = Json::object();
  }
  Json& spec = lease["spec"];
  if (!spec.is_object()) spec = Json::object();
  const std::string holder = text_below(spec, {"holderIdentity"});
  if (!none && !holder.empty() && holder != options_.holder) {
    const std::string now = holder + " " + text_below(spec, {"renewTime"});
    const std::lock_guard lock(mutex_);
    if (now != seen_) {
      seen_ = now;
      seen_at_ms_ = asked;
    }
    const bool told = spec.contains("leaseDurationSeconds") && spec["leaseDurationSeconds"].is_number_integer();
    const std::int64_t length = 1000 * (told ? spec["leaseDurationSeconds"].get<std::int64_t>() : 15);
    trouble_ = fmt::format("{} is", holder);
    if (asked - seen_at_ms_ < length) return;
  }
  if (holder != options_.holder) {
    spec["acquireTime"] = kube_time(clock_.now());
  }
  spec["holderIdentity"] = options_.holder;
  spec["leaseDurationSeconds"] = int(seconds(options_.length));
  spec["renewTime"] = kube_time(clock_.now());
  const auto written = none ? api_.ask("POST", all, lease) : api_.ask("PUT", path, lease);
  if (!written) return lost(written.error().what);
  if (!written->good()) return lost(written->words());
  const std::lock_guard lock(mutex_);
  held_until_ms_ = asked + (options_.length - options_.margin).count() / 1000;
  trouble_.clear();
}

}  // namespace smartmig
