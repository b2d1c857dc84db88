// A Kubernetes cluster as a ClusterWorkload (cluster/workload.h), and its nodes' GPUs as Agents (cluster/agents.h). A
// job is a ResourceClaim of the class `smartmig` with the pod that uses it. NVIDIA's DRA driver creates and removes the
// slices when pods start and end. This class decides which slice, where and when, through the allocations of claims:
//
//   controller            cluster
//   reserve a slice   ->  the claim's allocation names the device and the node; kube-scheduler then binds the pod
//   free a slice      ->  the allocation is taken back, unless a pod is about to use it
//   create, destroy   ->  nothing: a slice exists while it is allocated. Only the division that the policy wants is kept
//                         here, and jobs are placed within it
//   note              ->  an Event of the pod
//   requeue           ->  an eviction of the pod; its owner creates another
//
// A slice is free when its pod has ended according to the pod's phase: kubelet reports the end after the slice was
// unprepared. A GPU with an allocation by another allocator, or with two allocations for one place, gets no jobs. ask()
// from any thread, everything else on the owner's thread.
#pragma once
#include <deque>
#include <set>

#include "cluster/agents.h"
#include "cluster/workload.h"
#include "kubernetes/kube_boards.h"
#include "kubernetes/kube_claims.h"
#include "kubernetes/kube_events.h"
#include "mig/layout.h"

namespace smartmig {

extern const EngineWords kKubernetesWords;

class KubeCluster : public ClusterWorkload, public Agents {
 public:
  // `claims`, `events`: null where nothing may be written (--shadow).
  KubeCluster(KubeView& view, LiveClock& clock, KubeClaims* claims, KubeApi* api, KubeEvents* events)
      : view_(view), clock_(clock), claims_(claims), api_(api), events_(events) {}

  const EngineWords& words() const override { return kKubernetesWords; }
  Result<std::vector<ClusterJob>> jobs() override;
  Result<std::vector<ClusterNode>> nodes() override;
  Result<Ok> act(const std::vector<ClusterAction>& actions) override;
  void add_metrics(MetricLines& lines) const override;
  Result<Json> ask(const std::string& node, Json request, Patience patience) override;
  void forget();  // before a controller begins anew: the division is what is allocated

  static constexpr Time kSilence{180'000'000};  // of the API server, after which nothing is decided

 private:
  struct Known {  // a claim that is or was a job
    std::uint32_t number = 0;
    std::string key, pod_uid, pod_key;
    ClusterJob last;  // as it was told last
    UnixTime gone{};  // since when its pod or it is not there; 0: it is
    std::uint64_t seen = 0;
    bool granted = false;  // it was given its allocation by this process
  };
  ClusterJob job_of(const KubeClaim& claim, const KubePod& pod, const std::string& uid, bool several);
  std::uint32_t user_of(const std::string& space);
  Known& known(const std::string& uid);
  Result<Json> status(const std::string& node, const std::vector<KubeBoard>& boards, const KubeView::Copy& now);
  Result<Json> reserve(const std::string& node, const std::vector<KubeBoard>& boards, const Json& request);
  Result<Json> free(std::uint32_t number);
  Result<Json> change(const std::string& node, const std::vector<KubeBoard>& boards, const KubeView::Copy& now,
                      const Json& request);
  Layout& division(const std::string& node, const std::vector<KubeBoard>& boards, std::size_t board,
                   const KubeView::Copy& now);
  Result<KubeClaim> claim_of_number(std::uint32_t number, std::string& pod_uid, bool& over);
  void act_on(const ClusterAction& action);

  KubeView& view_;
  LiveClock& clock_;
  KubeClaims* claims_;
  KubeApi* api_;
  KubeEvents* events_;
  mutable std::mutex mutex_;            // of all below
  std::map<std::string, Known> known_;  // by the claim's UID
  std::map<std::uint32_t, std::string> uids_;
  std::map<std::string, std::uint32_t> users_;               // by namespace
  std::map<std::pair<std::string, int>, Layout> divisions_;  // by node and minor
  std::shared_ptr<std::map<std::string, KubeNode>> nodes_ = std::make_shared<std::map<std::string, KubeNode>>();
  std::set<std::string> our_nodes_;
  std::uint32_t last_number_ = 0;
  std::uint64_t look_ = 0, allocated_ = 0, taken_back_ = 0, conflicts_ = 0, evicted_ = 0, cleared_ = 0;
};

}  // namespace smartmig
