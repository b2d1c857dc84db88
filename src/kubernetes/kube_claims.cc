#include "kubernetes/kube_claims.h"

#include <algorithm>

#include "base/errors.h"

namespace smartmig {
namespace {

constexpr int kTries = 5;

std::string path_of_claim(const KubeMeta& meta) {
  return fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}", meta.space, meta.name);
}

}  // namespace

// The claim's own parameters for other drivers go along, as the scheduler copies them.
Json allocation_of(const Json& claim, const std::string& request, const std::string& node,
                   const KubeClaim::Device& device, UnixTime now) {
  Json config = Json::array();
  const auto member = [](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) ? object[key] : Json();
  };
  const Json configs = member(member(member(claim, "spec"), "devices"), "config");
  if (configs.is_array())
    for (Json one : configs) {
      if (member(member(one, "opaque"), "driver").is_null() || member(member(one, "opaque"), "driver") == kKubeClass)
        continue;
      one["source"] = "FromClaim";
      config.push_back(std::move(one));
    }
  Json result = {{"request", request}, {"driver", device.driver}, {"pool", device.pool}, {"device", device.name}};
  Json devices = Json::object();
  devices["results"] = Json::array({std::move(result)});
  if (!config.empty()) devices["config"] = std::move(config);
  Json field = {{"key", "metadata.name"}, {"operator", "In"}};
  field["values"] = Json::array({node});
  Json term = Json::object();
  term["matchFields"] = Json::array({std::move(field)});
  Json selector = Json::object();
  selector["nodeSelectorTerms"] = Json::array({std::move(term)});
  Json out = Json::object();
  out["devices"] = std::move(devices);
  out["nodeSelector"] = std::move(selector);
  const std::string instant = kube_time(now);
  out["allocationTimestamp"] = instant.substr(0, instant.find('.')) + "Z";
  return out;
}

Result<Json> KubeClaims::put(const std::string& path, const Json& object) {
  if (!may_write_()) return lost_error("another instance of smartmig may be active, so nothing is written");
  SMARTMIG_TRY(KubeReply reply, api_.ask("PUT", path, object));
  if (reply.status == 404) {
    view_.drop(KubeView::kClaims, object);
    return not_found("{} no longer exists", path);
  }
  if (reply.status == 409) return busy_error("{} has changed in the meantime", path);
  if (reply.status == 422) return invalid("{}: {}", path, reply.words());
  if (reply.status == 401 || reply.status == 403) return no_permission("{}: {}", path, reply.words());
  if (!reply.good()) return io_error("{}: {}", path, reply.words());
  view_.put(KubeView::kClaims, reply.body);
  return std::move(reply.body);
}

Result<Ok> KubeClaims::allocate(const KubeClaim& claim, const std::string& node, const KubeClaim::Device& device,
                                UnixTime now) {
  KubeClaim read = claim;
  for (int tries = kTries;; --tries) {
    auto done = allocate_once(read, node, device, now);
    if (done || done.error().code != Error::kBusy || tries == 1) return done;
    SMARTMIG_TRY(const KubeReply reply, api_.ask("GET", path_of_claim(claim.meta)));
    if (reply.status == 404) return not_found("claim {} no longer exists", claim.meta.key());
    if (!reply.good()) return io_error("claim {}: {}", claim.meta.key(), reply.words());
    view_.put(KubeView::kClaims, reply.body);
    read = claim_of(reply.body);
    if (read.meta.uid != claim.meta.uid) return not_found("claim {} no longer exists", claim.meta.key());
    if (read.allocated) return busy_error("claim {} was allocated in the meantime", claim.meta.key());
  }
}

Result<Ok> KubeClaims::allocate_once(const KubeClaim& claim, const std::string& node, const KubeClaim::Device& device,
                                     UnixTime now) {
  const std::string path = path_of_claim(claim.meta);
  if (claim.allocated) return busy_error("claim {} is allocated already", claim.meta.key());
  Json object = *claim.whole;
  Json& finalizers = object["metadata"]["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  if (std::find(finalizers.begin(), finalizers.end(), Json(kKeepAllocated)) == finalizers.end()) {
    finalizers.push_back(kKeepAllocated);
    // The API server compares the specification with its own, the parameters of drivers byte by byte: what was sent to it
    // with spaces between members comes back without, so nobody can write it back as JSON (422). The allocation needs no
    // finalizer; the status is written without a look at the specification.
    auto kept = put(path, object);
    if (!kept && kept.error().code != Error::kInvalid) return kept.error();
    if (kept) object = std::move(*kept);
  }
  object["status"]["allocation"] = allocation_of(object, claim.request, node, device, now);
  SMARTMIG_TRY(const Json written, put(path + "/status", object));
  if (!claim_of(written).allocated) return io_error("claim {}: the allocation was not accepted", claim.meta.key());
  return Ok{};
}

Result<Ok> KubeClaims::take_back(const KubeClaim& claim, const std::string& user) {
  if (!claim.allocated) return Ok{};
  for (const std::string& uid : claim.reserved_for)
    if (uid != user) return busy_error("claim {} is reserved for a pod", claim.meta.key());
  Json object = *claim.whole;
  object["status"].erase("allocation");
  object["status"].erase("reservedFor");
  SMARTMIG_TRY(const Json written, put(path_of_claim(claim.meta) + "/status", object));
  (void)written;
  return Ok{};
}

}  // namespace smartmig
