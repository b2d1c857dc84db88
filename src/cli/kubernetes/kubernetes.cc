// smartmig kubernetes serve|check|config: the controller of a Kubernetes cluster, whether the cluster is fit, what to
// apply to it.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/http_doors.h"
#include "cli/kubernetes/kubernetes_serve.h"
#include "cli/policy_flags.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "kubernetes/kube_check.h"
#include "kubernetes/kube_http.h"
#include "kubernetes/kube_reader.h"
#include "queue/config/settings_file.h"

namespace smartmig::cli {
namespace {

int check_cluster(const KubernetesOptions& options) {
  auto access = access_of(options);
  if (!access) return failure(access.error());
  KubeHttp api(*access);
  bool good = true;
  Json list = Json::array();
  for (const KubeFinding& one : check_kubernetes(api, options.space)) {
    good = good && one.good;
    if (!options.json) fmt::print("{:<5}{}: {}\n", one.good ? "ok" : "fix", one.what, one.words);
    list.push_back({{"good", one.good}, {"what", one.what}, {"words", one.words}});
  }
  if (options.json) fmt::print("{}\n", json_dump(Json{{"good", good}, {"findings", list}}, 2));
  return good ? 0 : 1;
}

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}

}  // namespace

int run_kubernetes(const Arguments& arguments) {
  std::string what, config_file, policy, patience = "60s", idle = "75s";
  KubernetesOptions options;
  options.state_dir = "/var/lib/smartmig/kubernetes";
  KubeManifest manifest;
  std::int64_t http_port = -1;
  bool http = false;
  Command command("kubernetes", "serve|check|config",
                  "serve   decides which pod gets which MIG slice, where and when, and allocates their "
                  "ResourceClaims;\n        NVIDIA's DRA driver creates the slices\ncheck   checks the cluster and the "
                  "permissions, and reports what to change\nconfig  prints what to apply: DeviceClass, permissions, "
                  "Deployment",
                  "smartmig kubernetes config --image registry.example/smartmig:1 | kubectl apply -f -");
  command.positional(what);
  command.option("--kubeconfig", options.kubeconfig, "FILE",
                 "serve, check: kubeconfig file for the API server (default: the service account of this pod)");
  command.option("--namespace", options.space, "NAME", "namespace of the Lease and the Deployment");
  command.option("--config", config_file, "FILE", "serve: settings, as for smartmig serve");
  command.option("--policy", policy, "POLICY", "serve, config: policy, from the list below");
  command.option("--state", options.state_dir, "DIR", "serve: directory of the journal");
  command.option("--identity", options.identity, "NAME", "serve: name of this instance (default: host and process)");
  command.flag("--shadow", options.shadow, "serve: only print decisions, with --gpus in every node; writes nothing");
  command.option("--gpus", options.gpus, "GPUS", "serve --shadow: GPUs of a node, such as 4xa100-40gb");
  command.option("--start-patience", patience, "TIME",
                 "serve: take back the slice of a pod that is not bound within this time");
  command.option("--idle", idle, "TIME", "serve: restart a watch that has delivered nothing for this time");
  command.flag("--http", http, "serve: also serve a read-only page and /metrics at http://127.0.0.1:7480/");
  command.option("--http-port", http_port, "PORT", "serve: --http on another port of 127.0.0.1; 0: any free port");
  command.option("--metrics", options.metrics, "FILE", "serve: write Prometheus metrics to this file every 10 s");
  command.option("--image", manifest.image, "IMAGE", "config: container image");
  command.flag("--json", options.json, "check: print JSON");
  list_policies(command);
  if (const auto end = command.ends(arguments)) return *end;
  if (!is_label(options.space))
    return usage_error(invalid("--namespace: '{}' is not a valid namespace name", options.space));
  const auto start = read_duration(patience, Time(1'000'000));
  if (!start) return usage_error(start.error());
  options.start_patience = *start;
  const auto silence = read_duration(idle, Time(1'000'000));
  if (!silence) return usage_error(silence.error());
  options.idle = *silence;
  if (what == "config") {
    manifest.space = options.space;
    if (!policy.empty()) manifest.policy = policy;
    for (const std::string& text : {manifest.image, manifest.policy})
      if (text.empty() || text.find_first_of(" \t\n\"'{}[],#") != text.npos)
        return usage_error(invalid("'{}' contains characters that are not allowed in the YAML", text));
    fmt::print("{}", manifest_of(manifest));
    return 0;
  }
  if (what == "check") return check_cluster(options);
  if (what != "serve") return usage_error(invalid("'{}' is not serve, check or config", what));
  if (!config_file.empty()) {
    auto settings = read_settings(config_file);
    if (!settings) return failure(settings.error());
    options.settings = std::move(*settings);
  }
  if (!policy.empty()) options.settings.policy.name = policy;
  if (const auto good = take_http_flags(options.settings, http, http_port); !good) return usage_error(good.error());
  if (const auto good = check_settings(options.settings); !good) return usage_error(good.error());
  if (options.shadow && options.gpus.empty())
    return usage_error(invalid("--shadow: give the GPUs of a node: --gpus 4xa100-40gb"));
  return serve_kubernetes(options);
}

}  // namespace smartmig::cli
