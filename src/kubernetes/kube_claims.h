// Writes claims: gives and takes back allocations. Each write names the version that it is based on, so of two
// concurrent writers one is refused. Before an allocation, the claim gets the finalizer that keeps it while it is
// allocated, as kube-scheduler does. Any thread.
#pragma once
#include "kubernetes/kube_view.h"

namespace smartmig {

class KubeClaims {
 public:
  // `may_write`: false where another instance may have taken over (kube_lease.h).
  KubeClaims(KubeApi& api, KubeView& view, std::function<bool()> may_write)
      : api_(api), view_(view), may_write_(std::move(may_write)) {}

  // One that others changed meanwhile is read again, some times. kBusy: it has another allocation, or changes all the
  // time. kNotFound: it has gone.
  Result<Ok> allocate(const KubeClaim& claim, const std::string& node, const KubeClaim::Device& device, UnixTime now);
  // Nothing where it has none. `user`: the UID of the one pod whose reservation may go with it; kBusy: others hold it.
  Result<Ok> take_back(const KubeClaim& claim, const std::string& user);

 private:
  Result<Ok> allocate_once(const KubeClaim& claim, const std::string& node, const KubeClaim::Device& device,
                           UnixTime now);
  Result<Json> put(const std::string& path, const Json& object);
  KubeApi& api_;
  KubeView& view_;
  std::function<bool()> may_write_;
};

// With its time: kube-scheduler of 1.36 adds one that lacks when it reserves the claim, and is refused, since an
// allocation may not change.
Json allocation_of(const Json& claim, const std::string& request, const std::string& node,
                   const KubeClaim::Device& device, UnixTime now);

}  // namespace smartmig
