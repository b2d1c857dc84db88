// Objects of the API server, limited to the fields that matter here. The readers accept anything: missing fields read
// as absent, and no reader throws.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "cluster/workload.h"

namespace smartmig {

inline constexpr const char* kKubeClass = "smartmig";        // of devices; also the driver of opaque parameters
inline constexpr const char* kGpuDriver = "gpu.nvidia.com";  // NVIDIA's, which makes the slices
inline constexpr const char* kKeepAllocated = "resource.kubernetes.io/delete-protection";

struct KubeMeta {
  std::string space, name, uid;
  std::uint64_t version = 0;
  UnixTime created{};
  bool deleting = false;
  std::string key() const { return space + "/" + name; }
};
KubeMeta meta_of(const Json& object);

struct KubePod {
  KubeMeta meta;
  std::string node, phase, reason;  // phase: "Pending", "Running", "Succeeded", "Failed"
  bool remade = false;              // its owner (a Job, a ReplicaSet) makes another where it goes
  bool gated = false;               // it has scheduling gates
  std::vector<std::string> claims;  // names
  int cpu_m = 0, mem_mib = 0;       // of all its containers; 1000 for a CPU
  std::map<std::string, std::string> selector, annotations;
  Json affinity, tolerations;
  UnixTime started{}, ended{};
  int restarts = 0;
  bool over() const { return phase == "Succeeded" || phase == "Failed"; }
};
KubePod pod_of(const Json& object);

struct KubeClaim {
  struct Device {
    std::string driver, pool, name;
  };
  KubeMeta meta;
  std::string request;              // the name of its one request of the class; empty: it has none
  std::optional<JobRequest> asked;  // nothing: `unreadable` says why
  std::string unreadable;
  bool allocated = false;
  std::vector<Device> devices;
  std::string node;                       // that the allocation names
  std::vector<std::string> reserved_for;  // pods, by UID
  std::shared_ptr<const Json> whole;
};
KubeClaim claim_of(const Json& object);
// What a pod's annotations smartmig/mem, /slices, /profile, /deadline, /estimate, /restart, /workload say besides.
Result<JobRequest> request_with(const JobRequest& claim, const std::map<std::string, std::string>& annotations);

struct KubeNode {
  KubeMeta meta;
  bool ready = false, cordoned = false;
  std::map<std::string, std::string> labels;
  Json taints;
  int cpu_m = 0, mem_mib = 0;
};
KubeNode node_of(const Json& object);

// A device's name: "gpu-0-mig-1g10gb-15-0" is profile 1g.10gb, from memory slice 0 of GPU 0.
struct MigDeviceName {
  int gpu = -1;
  std::string profile;  // without its dots, as in the name
  int start = -1;
};
std::optional<MigDeviceName> parse_mig_device(std::string_view name);
std::string profile_in_device(std::string_view profile);  // "1g.5gb+me" is "1g5gb-me"

struct KubeSlice {
  KubeMeta meta;
  std::string node, pool;
  std::uint64_t generation = 0;
  struct Device {
    std::string name, product;
  };
  std::vector<Device> devices;
};
std::optional<KubeSlice> slice_of(const Json& object);  // nothing: of another driver, or of no node

std::optional<std::int64_t> parse_quantity(std::string_view text, std::int64_t scale);  // "18Gi", "500m"; times scale
UnixTime parse_kube_time(const std::string& text);                                      // 0: it is none
std::string kube_time(UnixTime at);

// Why a pod may never run on a node, as the end of a sentence; empty: it may.
std::string objection_to(const KubeNode& node, const KubePod& pod);

}  // namespace smartmig
