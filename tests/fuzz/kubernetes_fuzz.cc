// What an API server tells: pods, claims, slices and nodes, and the names and amounts in them.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fuzz/target.h"
#include "kubernetes/kube_boards.h"
#include "kubernetes/kube_claims.h"

SMARTMIG_FUZZ_TARGET(kubernetes) {
  using namespace smartmig;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) {
    if (const auto device = parse_mig_device(text)) SMARTMIG_CHECK(device->gpu >= 0 && device->start >= 0, "a place");
    (void)parse_quantity(text, 1000);
    const UnixTime at = parse_kube_time(std::string(text));
    if (at != UnixTime{}) (void)kube_time(at);
    return 0;
  }
  const auto object = parse_json("object", text);
  if (!object) return 0;
  if (data[0] % 4 == 1) {
    const KubePod pod = pod_of(*object);
    (void)objection_to(node_of(*object), pod);
    (void)request_with({}, pod.annotations);
  } else if (data[0] % 4 == 2) {
    const KubeClaim claim = claim_of(*object);
    Json again = *object;
    if (!again.is_object()) return 0;
    again["status"] = Json::object();
    again["status"]["allocation"] =
        allocation_of(*object, claim.request, "n1", {kGpuDriver, "p", "gpu-0"}, from_unix_us(0));
    SMARTMIG_CHECK(claim_of(again).node == "n1", "an allocation is not read as it was written");
  } else if (auto slice = slice_of(*object)) {
    (void)boards_of({{"a", std::make_shared<const KubeSlice>(std::move(*slice))}});
  }
  return 0;
}
