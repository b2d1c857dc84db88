#include "cli/kubernetes/kubernetes_serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "cli/cluster/cluster_desk.h"
#include "cli/cluster/log_lines.h"
#include "cli/cluster/stop_signal.h"
#include "cli/verbs.h"
#include "cluster/controller.h"
#include "cluster/private_folder.h"
#include "cluster/shadow.h"
#include "kubernetes/kube_cluster.h"
#include "kubernetes/kube_http.h"
#include "kubernetes/kube_lease.h"

namespace smartmig::cli {
namespace {

constexpr Time kTryAgain{500'000};
constexpr Time kPoll{250'000};  // of what readers have gathered: nobody is asked

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

ClusterController::Options controller_options(const KubernetesOptions& options, UnixTime now) {
  ClusterController::Options wanted;
  wanted.settings = options.settings;
  wanted.state_dir = options.state_dir;
  wanted.name = options.identity;
  wanted.version = SMARTMIG_VERSION;
  wanted.epoch = std::uint64_t(unix_us(now));
  wanted.start_patience = options.start_patience;
  wanted.poll = kPoll;
  wanted.metrics_file = options.metrics;
  wanted.say = tell_log;
  return wanted;
}

}  // namespace

Result<KubeAccess> access_of(const KubernetesOptions& options) {
  if (options.kubeconfig.empty()) return pod_access();
  return read_kubeconfig(options.kubeconfig, options.state_dir + "/access");
}

int serve_kubernetes(const KubernetesOptions& given) {
  KubernetesOptions options = given;
  if (options.identity.empty()) options.identity = fmt::format("{}-{}", host_name(), ::getpid());
  StopSignal signals;
  RealClock clock;
  signals.watch([&] { clock.wake(); });
  if (const auto made = make_private_folder(options.state_dir); !made) return failure(made.error());
  auto access = access_of(options);
  if (!access) return failure(access.error());
  KubeHttp api(*access);
  std::optional<KubeLease> lease;
  if (!options.shadow) {
    KubeLease::Options wanted;
    wanted.space = options.space;
    wanted.holder = options.identity;
    wanted.say = tell_log;
    lease.emplace(api, clock, std::move(wanted));
  }
  const auto active = [&] { return !lease || lease->held(); };
  KubeEvents events(api, clock, options.identity);
  ClusterDesk desk(clock, kKubernetesWords);
  if (const auto opened = desk.open(options.settings, options.state_dir); !opened) return failure(opened.error());
  std::string told;
  while (!signals.stop()) {
    if (!active()) {
      desk.wait(kTryAgain, signals.stop());
      continue;
    }
    // All is read after the lease was taken: what the instance before has written is seen.
    KubeView view(clock);
    KubeReaders readers(api, view, options.idle);
    KubeClaims claims(api, view, active);
    KubeCluster cluster(view, clock, options.shadow ? nullptr : &claims, options.shadow ? nullptr : &api,
                        options.shadow ? nullptr : &events);
    std::unique_ptr<ShadowCluster> shadow;
    if (options.shadow) {
      auto opened = ShadowCluster::open(cluster, options.gpus, clock);
      if (!opened) return usage_error(opened.error());
      shadow = std::move(*opened);
    }
    while (!signals.stop() && active()) {
      const std::string trouble = view.trouble(KubeCluster::kSilence);
      if (!trouble.empty()) {
        if (trouble != told && trouble.find("not listed yet") == trouble.npos) tell_log(trouble);
        told = trouble;
        desk.wait(kTryAgain / 2, signals.stop());
        continue;
      }
      std::atomic<bool> leave = false;
      auto wanted = desk.given(controller_options(options, clock.now()));
      wanted.attend = [&, page = std::move(wanted.attend)](ClusterController& controller) {
        if (page) page(controller);
        leave = leave || signals.stop() || !active();
      };
      cluster.forget();
      ClusterWorkload& workload = shadow ? static_cast<ClusterWorkload&>(*shadow) : cluster;
      Agents& agents = shadow ? static_cast<Agents&>(*shadow) : cluster;
      auto controller = ClusterController::open(workload, agents, clock, std::move(wanted));
      if (!controller) {
        if (controller.error().what != told) tell_log(controller.error().what);
        told = controller.error().what;
        desk.wait(kTryAgain, signals.stop());
        continue;
      }
      told.clear();
      tell_log(fmt::format("{}{} under {}", shadow ? "watching only: " : "", (*controller)->in_one_line(),
                           options.settings.policy.name));
      if ((*controller)->run(leave) == ClusterController::Outcome::kRebuild) tell_log("rereading everything");
    }
  }
  tell_log("ended; pods that have slices continue, others wait for the next instance");
  return 0;
}

}  // namespace smartmig::cli
