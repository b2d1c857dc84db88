// The known state of a Kubernetes cluster: pods, claims, slices and nodes, updated by readers (kube_reader.h) and by
// the replies to this program's own writes. An older version never replaces a newer one, and the reply to a write never
// restores an object that has been deleted in the meantime. Any thread.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "kubernetes/kube_objects.h"
#include "kubernetes/kube_reader.h"

namespace smartmig {

class KubeView {
 public:
  enum Kind : std::uint8_t { kPods, kClaims, kSlices, kNodes, kKinds };
  static const char* path_of(Kind kind);

  explicit KubeView(LiveClock& clock) : clock_(clock) {}
  void replace(Kind kind, const std::vector<Json>& objects);
  void put(Kind kind, const Json& object);
  void drop(Kind kind, const Json& object);
  void heard(Kind kind, bool good, const std::string& words);

  // Why nothing can be decided by it; empty: everything was listed, and heard of within `most`.
  std::string trouble(Time most) const;

  struct Copy {
    std::map<std::string, std::shared_ptr<const KubePod>> pods;  // by space/name, as all below
    std::map<std::string, std::shared_ptr<const KubeClaim>> claims;
    std::map<std::string, std::shared_ptr<const KubeSlice>> slices;
    std::map<std::string, std::shared_ptr<const KubeNode>> nodes;
  };
  Copy copy() const;
  std::shared_ptr<const KubeClaim> claim(const std::string& key) const;  // null: there is none
  std::uint64_t version() const;                                         // grows with every change

  KubeReader::Sink sink(Kind kind);

 private:
  void put_now(Kind kind, const Json& object);
  LiveClock& clock_;
  mutable std::mutex mutex_;
  static constexpr std::size_t kMostGone = 20'000;
  void has_gone(const std::string& uid);
  Copy now_;
  std::set<std::string> gone_;  // UIDs, the latest
  std::deque<std::string> gone_order_;
  std::uint64_t version_ = 0;
  struct Heard {
    bool listed = false;
    UnixTime last{};
    std::string words;
  };
  std::array<Heard, kKinds> heard_;
};

// Readers of all four kinds, for as long as this lives.
class KubeReaders {
 public:
  KubeReaders(KubeApi& api, KubeView& view, Time idle = KubeReader::kIdle);

 private:
  std::vector<std::unique_ptr<KubeReader>> readers_;
};

}  // namespace smartmig
