// Checks whether a cluster is suitable for smartmig (`smartmig kubernetes check`). Uses only the API and changes
// nothing.
#pragma once
#include "kubernetes/kube_api.h"

namespace smartmig {

struct KubeFinding {
  bool good = false;
  std::string what;   // "DeviceClass smartmig"
  std::string words;  // what was found, and what to change
};
std::vector<KubeFinding> check_kubernetes(KubeApi& api, const std::string& space);

struct KubeManifest {
  std::string space = "smartmig", image = "smartmig:latest", policy = "best";
};
std::string manifest_of(const KubeManifest& wanted);  // YAML: what `smartmig kubernetes config` prints

}  // namespace smartmig
