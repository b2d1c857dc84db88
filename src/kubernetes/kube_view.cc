#include "kubernetes/kube_view.h"

namespace smartmig {
namespace {

template <class Map, class Object>
void put_newer(Map& map, Object object) {
  auto& known = map[object.meta.key()];
  if (known && known->meta.uid == object.meta.uid && known->meta.version > object.meta.version) return;
  known = std::make_shared<const Object>(std::move(object));
}

template <class Map>
void drop_known(Map& map, const KubeMeta& meta) {
  const auto known = map.find(meta.key());
  if (known != map.end() && known->second->meta.uid == meta.uid) map.erase(known);
}

// What a list lacks has gone; of what it has the newer one stays.
template <class Map, class Gone>
void keep_listed(Map& map, const std::set<std::string>& uids, Gone gone) {
  std::erase_if(map, [&](const auto& one) {
    const std::string& uid = one.second->meta.uid;
    if (uids.contains(uid)) return false;
    gone(uid);
    return true;
  });
}

}  // namespace

const char* KubeView::path_of(Kind kind) {
  switch (kind) {
    case kPods:
      return "/api/v1/pods";
    case kClaims:
      return "/apis/resource.k8s.io/v1/resourceclaims";
    case kSlices:
      return "/apis/resource.k8s.io/v1/resourceslices";
    case kNodes:
    case kKinds:
      return "/api/v1/nodes";
  }
  return "";
}

void KubeView::has_gone(const std::string& uid) {
  if (!gone_.insert(uid).second) return;
  gone_order_.push_back(uid);
  if (gone_order_.size() <= kMostGone) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

void KubeView::put_now(Kind kind, const Json& object) {
  if (gone_.contains(meta_of(object).uid)) return;
  switch (kind) {
    case kPods:
      return put_newer(now_.pods, pod_of(object));
    case kClaims:
      return put_newer(now_.claims, claim_of(object));
    case kSlices:
      if (auto slice = slice_of(object)) put_newer(now_.slices, std::move(*slice));
      return;
    case kNodes:
      return put_newer(now_.nodes, node_of(object));
    case kKinds:
      return;
  }
}

void KubeView::replace(Kind kind, const std::vector<Json>& objects) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> uids;
  for (const Json& object : objects) {
    uids.insert(meta_of(object).uid);
    put_now(kind, object);
  }
  const auto gone = [this](const std::string& uid) { has_gone(uid); };
  if (kind == kPods) keep_listed(now_.pods, uids, gone);
  if (kind == kClaims) keep_listed(now_.claims, uids, gone);
  if (kind == kSlices) keep_listed(now_.slices, uids, gone);
  if (kind == kNodes) keep_listed(now_.nodes, uids, gone);
  heard_[kind].listed = true;
  ++version_;
}

void KubeView::put(Kind kind, const Json& object) {
  const std::lock_guard lock(mutex_);
  put_now(kind, object);
  ++version_;
}

void KubeView::drop(Kind kind, const Json& object) {
  const KubeMeta meta = meta_of(object);
  const std::lock_guard lock(mutex_);
  has_gone(meta.uid);
  if (kind == kPods) drop_known(now_.pods, meta);
  if (kind == kClaims) drop_known(now_.claims, meta);
  if (kind == kSlices) drop_known(now_.slices, meta);
  if (kind == kNodes) drop_known(now_.nodes, meta);
  ++version_;
}

void KubeView::heard(Kind kind, bool good, const std::string& words) {
  const std::lock_guard lock(mutex_);
  if (good) heard_[kind].last = clock_.now();
  heard_[kind].words = words;
}

std::string KubeView::trouble(Time most) const {
  const std::lock_guard lock(mutex_);
  for (int kind = 0; kind < kKinds; ++kind) {
    const Heard& heard = heard_[std::size_t(kind)];
    const std::string words = heard.words.empty() ? "" : ": " + heard.words;
    if (!heard.listed) return fmt::format("{} were not listed yet{}", path_of(Kind(kind)), words);
    if (clock_.now() - heard.last > most)
      return fmt::format("nothing was received about {} for {:.0f} s{}", path_of(Kind(kind)),
                         seconds(clock_.now() - heard.last), words);
  }
  return {};
}

KubeView::Copy KubeView::copy() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::shared_ptr<const KubeClaim> KubeView::claim(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = now_.claims.find(key);
  return known == now_.claims.end() ? nullptr : known->second;
}

std::uint64_t KubeView::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

KubeReader::Sink KubeView::sink(Kind kind) {
  return {[this, kind](const std::vector<Json>& objects) { replace(kind, objects); },
          [this, kind](const Json& object, bool gone) { gone ? drop(kind, object) : put(kind, object); },
          [this, kind](bool good, const std::string& words) {
            heard(kind, good, words);
            if (good) clock_.wake();
          }};
}

KubeReaders::KubeReaders(KubeApi& api, KubeView& view, Time idle) {
  for (int kind = 0; kind < KubeView::kKinds; ++kind)
    readers_.push_back(std::make_unique<KubeReader>(api, KubeView::path_of(KubeView::Kind(kind)),
                                                    view.sink(KubeView::Kind(kind)), idle));
}

}  // namespace smartmig
