#include "kubernetes/kube_check.h"

#include <algorithm>

#include "base/text.h"
#include "kubernetes/kube_boards.h"

namespace smartmig {
namespace {

constexpr std::int64_t kLeastMinor = 34;  // resource.k8s.io/v1

KubeFinding version_of_server(KubeApi& api) {
  const auto reply = api.ask("GET", "/version");
  if (!reply) return {false, "API server", reply.error().what};
  if (!reply->good()) return {false, "API server", reply->words()};
  const std::string words = text_below(reply->body, {"gitVersion"});
  const std::string minor = text_below(reply->body, {"minor"});
  const auto number = parse_int(std::string_view(minor).substr(0, minor.find_first_not_of("0123456789")));
  if (!number || *number < kLeastMinor)
    return {false, "API server", fmt::format("{} is too old; resource.k8s.io/v1 needs 1.{}", words, kLeastMinor)};
  return {true, "API server", words};
}

KubeFinding class_of_devices(KubeApi& api) {
  const std::string what = fmt::format("DeviceClass {}", kKubeClass);
  const auto reply = api.ask("GET", fmt::format("/apis/resource.k8s.io/v1/deviceclasses/{}", kKubeClass));
  if (!reply) return {false, what, reply.error().what};
  if (reply->status == 404) return {false, what, "does not exist; apply the output of `smartmig kubernetes config`"};
  if (!reply->good()) return {false, what, reply->words()};
  bool closed = false;
  if (reply->body.is_object() && reply->body.contains("spec") && reply->body["spec"].contains("selectors"))
    for (const Json& one : reply->body["spec"]["selectors"])
      closed = closed || text_below(one, {"cel", "expression"}) == "false";
  if (!closed)
    return {
        false, what,
        "has no selector `false`, so kube-scheduler also allocates slices; apply the output of `smartmig kubernetes config`"};
  return {true, what, "only smartmig allocates its claims"};
}

std::vector<KubeFinding> gpus_of(KubeApi& api) {
  const auto reply = api.ask("GET", KubeView::path_of(KubeView::kSlices));
  if (!reply || !reply->good()) return {{false, "ResourceSlices", reply ? reply->words() : reply.error().what}};
  std::map<std::string, std::shared_ptr<const KubeSlice>> slices;
  if (reply->body.is_object() && reply->body.contains("items") && reply->body["items"].is_array())
    for (const Json& item : reply->body["items"])
      if (auto slice = slice_of(item)) slices[slice->meta.key()] = std::make_shared<const KubeSlice>(std::move(*slice));
  const auto boards = boards_of(slices);
  if (boards.empty())
    return {{false, "GPUs",
             "no ResourceSlice of gpu.nvidia.com has MIG devices; install NVIDIA's DRA driver with the feature gate "
             "DynamicMIG"}};
  std::vector<KubeFinding> out;
  for (const auto& [node, gpus] : boards) {
    std::string words;
    bool good = true;
    for (const KubeBoard& gpu : gpus) {
      good = good && gpu.model && !gpu.devices.empty();
      words += fmt::format("{}{}", words.empty() ? "" : ", ",
                           gpu.model ? fmt::format("{} ({} slices)", gpu.model->name(), gpu.devices.size())
                                     : fmt::format("'{}' is not in the catalogue of GPU models", gpu.product));
    }
    out.push_back({good, "node " + node, words});
  }
  return out;
}

KubeFinding may(KubeApi& api, const char* verb, const char* group, const std::string& resource,
                const std::string& space) {
  const auto slash = resource.find('/');
  Json attributes = {{"verb", verb}, {"group", group}, {"resource", resource.substr(0, slash)}};
  if (slash != resource.npos) attributes["subresource"] = resource.substr(slash + 1);
  if (!space.empty()) attributes["namespace"] = space;
  Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}};
  review["spec"]["resourceAttributes"] = std::move(attributes);
  const std::string what = fmt::format("permission to {} {}", verb, resource);
  const auto reply = api.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review);
  if (!reply || !reply->good()) return {false, what, reply ? reply->words() : reply.error().what};
  const bool good = reply->body.contains("status") && reply->body["status"].contains("allowed") &&
                    reply->body["status"]["allowed"] == true;
  return {good, what, good ? "given" : "missing; apply the output of `smartmig kubernetes config`"};
}

}  // namespace

std::vector<KubeFinding> check_kubernetes(KubeApi& api, const std::string& space) {
  std::vector<KubeFinding> out{version_of_server(api)};
  if (!out.front().good) return out;
  out.push_back(class_of_devices(api));
  for (KubeFinding& one : gpus_of(api)) out.push_back(std::move(one));
  struct Needed {
    const char *verb, *group;
    std::string resource;
    bool in_space = false;
  };
  for (const Needed& one :
       {Needed{"watch", "", "pods"}, Needed{"watch", "", "nodes"}, Needed{"watch", "resource.k8s.io", "resourceclaims"},
        Needed{"watch", "resource.k8s.io", "resourceslices"}, Needed{"update", "resource.k8s.io", "resourceclaims"},
        Needed{"update", "resource.k8s.io", "resourceclaims/status"},
        Needed{"update", "resource.k8s.io", "resourceclaims/binding"}, Needed{"create", "", "pods/eviction"},
        Needed{"create", "events.k8s.io", "events"}, Needed{"update", "coordination.k8s.io", "leases", true}})
    out.push_back(may(api, one.verb, one.group, one.resource, one.in_space ? space : std::string()));
  return out;
}

std::string manifest_of(const KubeManifest& wanted) {
  return fmt::format(R"(# smartmig on Kubernetes: docs/kubernetes.md. Printed by `smartmig kubernetes config`.
apiVersion: v1
kind: Namespace
metadata:
  name: {0}
---
# Claims of this class are allocated by smartmig alone: no device satisfies its selector.
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: smartmig
spec:
  selectors:
  - cel:
      expression: "false"
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: smartmig
  namespace: {0}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: smartmig
rules:
- apiGroups: [""]
  resources: [pods, nodes]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
- apiGroups: [resource.k8s.io]
  resources: [resourceslices, deviceclasses]
  verbs: [get, list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [get, list, watch, update]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/status, resourceclaims/binding]
  verbs: [update, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: smartmig
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: smartmig
subjects:
- kind: ServiceAccount
  name: smartmig
  namespace: {0}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: smartmig
  namespace: {0}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: smartmig
  namespace: {0}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: smartmig
subjects:
- kind: ServiceAccount
  name: smartmig
  namespace: {0}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: smartmig
  namespace: {0}
spec:
  replicas: 2  # one is active, the other waits for its Lease
  selector:
    matchLabels:
      app: smartmig
  template:
    metadata:
      labels:
        app: smartmig
    spec:
      serviceAccountName: smartmig
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        fsGroup: 65534
      containers:
      - name: smartmig
        image: {1}
        command: [smartmig, kubernetes, serve, --policy, {2}, --namespace, {0}, --state, /state]
        resources:
          requests:
            cpu: 100m
            memory: 256Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        - name: state
          mountPath: /state
      volumes:
      - name: state
        emptyDir: {{}}
)",
                     wanted.space, wanted.image, wanted.policy);
}

}  // namespace smartmig
