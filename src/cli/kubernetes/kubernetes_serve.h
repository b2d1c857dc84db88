// `smartmig kubernetes serve`: the controller of a Kubernetes cluster, in the foreground.
#pragma once
#include "kubernetes/kube_access.h"
#include "queue/config/settings.h"

namespace smartmig::cli {

struct KubernetesOptions {
  std::string kubeconfig, state_dir, space = "smartmig", identity, metrics, gpus;
  bool shadow = false, json = false;
  Time start_patience{}, idle{};
  Settings settings;
};

Result<KubeAccess> access_of(const KubernetesOptions& options);
int serve_kubernetes(const KubernetesOptions& options);  // until a signal

}  // namespace smartmig::cli
