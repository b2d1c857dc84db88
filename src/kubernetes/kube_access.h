// The address of the API server and the identity for it: from a kubeconfig file, or from the service account of the
// pod.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig {

struct KubeAccess {
  std::string server;               // "https://10.0.0.1:6443"
  std::string ca_file;              // empty: the system's
  std::string token_file;           // read again when the server refuses the token: they expire
  std::string token;                // where no file has it
  std::string cert_file, key_file;  // of the client; empty: none
  bool insecure = false;            // the kubeconfig says insecure-skip-tls-verify
};

inline constexpr const char* kPodAccess = "/var/run/secrets/kubernetes.io/serviceaccount";

// The current context of a kubeconfig. Certificates inside the file are written into `folder`, readable for this user
// alone. kUnsupported: the user signs in by a program or a provider.
Result<KubeAccess> read_kubeconfig(const std::string& file, const std::string& folder);
// Of the pod that this program runs in. kNotFound: it runs in none.
Result<KubeAccess> pod_access(const std::string& folder = kPodAccess);

}  // namespace smartmig
