#include "kubernetes/kube_cluster.h"

#include <algorithm>

#include "base/errors.h"
#include "cluster/metric_lines.h"
#include "mig/shape.h"
#include "queue/job_slice.h"

namespace smartmig {
namespace {

constexpr Time kTellGone{60'000'000};  // so long a job whose pod has gone is told as ended

ClusterJob::Outcome outcome_of(const KubePod& pod) {
  if (pod.phase == "Succeeded") return ClusterJob::kCompleted;
  if (pod.reason == "DeadlineExceeded") return ClusterJob::kTimedOut;
  if (pod.reason == "Evicted" || pod.reason == "Preempting" || pod.reason == "NodeLost") return ClusterJob::kLost;
  return ClusterJob::kFailed;
}

// Pods with the same text may use the same nodes.
std::string needs_of(const KubePod& pod) {
  std::string out = fmt::format("{}|{}|", pod.cpu_m, pod.mem_mib);
  for (const auto& [key, value] : pod.selector) out += key + "=" + value + ",";
  return out + "|" + json_dump(pod.affinity) + "|" + json_dump(pod.tolerations);
}

std::string facts_of(const KubeNode& node, std::size_t pods) {
  std::string out = fmt::format("{}|", pods);  // one that was full may have room
  for (const auto& [key, value] : node.labels) out += key + "=" + value + ",";
  return out + "|" + json_dump(node.taints);
}

}  // namespace

const EngineWords kKubernetesWords{
    .name = "Kubernetes",
    .id = "kubernetes",
    .no_nodes = "no node has ResourceSlices of the driver gpu.nvidia.com with MIG devices: see docs/kubernetes.md",
    .isolation = "Kubernetes'",
    .more = "kubectl describe pod says more",
    .submit = "kubectl apply",
    .cancel = "kubectl delete pod",
    .requeue = "kubectl delete pod",
    .change = "kubectl",
    .usage = "your cluster's metrics",
    .groups = "namespaces",
    .reserve = "kubectl cordon",
    .unreserve = "kubectl uncordon",
    .history = "kubectl get pods",
    .whatif = "smartmig whatif",
    .drain = "kubectl cordon",
    .pause = "scheduling gates",
    .restart = "a restart of smartmig kubernetes serve",
    .settings = "smartmig kubernetes serve --policy",
    .state = "Kubernetes' own state",
    .log = "kubectl logs",
};

KubeCluster::Known& KubeCluster::known(const std::string& uid) {
  Known& one = known_[uid];
  if (one.number != 0) return one;
  one.number = ++last_number_;
  uids_[one.number] = uid;
  return one;
}

std::uint32_t KubeCluster::user_of(const std::string& space) {
  return users_.try_emplace(space, std::uint32_t(users_.size() + 1)).first->second;
}

ClusterJob KubeCluster::job_of(const KubeClaim& claim, const KubePod& pod, const std::string& uid, bool several) {
  Known& mine = known(uid);
  ClusterJob out;
  out.name = {mine.number, -1};
  out.number = mine.number;
  out.uid = user_of(claim.meta.space);
  out.user = claim.meta.space;
  out.title = pod.meta.name;
  out.memo = uid;
  out.unreadable = claim.unreadable;
  if (claim.asked) {
    auto asked = request_with(*claim.asked, pod.annotations);
    if (asked)
      out.request = std::move(*asked);
    else
      out.unreadable = asked.error().what;
  }
  if (several) {
    out.request.reset();
    out.unreadable = fmt::format(
        "pod {} has several claims of the class smartmig; smartmig places one claim for each pod", pod.meta.key());
  }
  out.requeue = pod.remade && out.request && out.request->restart;
  out.restarts = pod.restarts;
  out.submitted = pod.meta.created;
  out.started = pod.started;
  out.held = !claim.allocated;
  out.state = pod.reason.empty() ? pod.phase : pod.reason;
  out.reason = claim.allocated ? "allocated" : mine.granted ? "its allocation was cleared" : "not allocated";
  out.given_node = claim.node;
  out.cpus = pod.cpu_m;
  out.mem_mib = pod.mem_mib > 0 ? pod.mem_mib : -1;  // what asks for none has some wherever it is
  if (pod.gated) out.obstacle = "its scheduling gates are closed";
  if (pod.meta.deleting) out.obstacle = "its pod is being deleted";
  out.needs = needs_of(pod);
  const auto copy = std::make_shared<const KubePod>(pod);
  out.objection = [copy, nodes = nodes_](const std::string& name) -> std::string {
    const auto node = nodes->find(name);
    return node == nodes->end() ? std::string("is not a node of the Kubernetes cluster")
                                : objection_to(node->second, *copy);
  };
  if (pod.over()) {
    out.phase = ClusterJob::kEnded;
    out.outcome = outcome_of(pod);
    out.ended = pod.ended == UnixTime{} ? clock_.now() : pod.ended;
    if (mine.last.phase == ClusterJob::kEnded && mine.last.ended != UnixTime{}) out.ended = mine.last.ended;
  } else if (!pod.node.empty()) {
    out.phase = pod.meta.deleting ? ClusterJob::kEnding : ClusterJob::kRunning;
    out.held = false;
    if (out.started == UnixTime{}) out.started = mine.last.started == UnixTime{} ? clock_.now() : mine.last.started;
  } else if (!claim.allocated && mine.granted) {
    out.refusal = ClusterJob::kHere;  // the scheduler takes back what it could not use
  }
  return out;
}

Result<std::vector<ClusterJob>> KubeCluster::jobs() {
  if (const std::string trouble = view_.trouble(kSilence); !trouble.empty()) return io_error("{}", trouble);
  const KubeView::Copy now = view_.copy();
  const std::lock_guard lock(mutex_);
  ++look_;
  std::map<std::string, std::vector<const KubePod*>> users;  // of claims
  for (const auto& [key, pod] : now.pods)
    for (const std::string& claim : pod->claims) users[pod->meta.space + "/" + claim].push_back(pod.get());
  std::map<std::string, int> claims_of_pod;
  for (const auto& [key, claim] : now.claims)
    if (!claim->request.empty())
      for (const KubePod* pod : users[key]) ++claims_of_pod[pod->meta.uid];
  std::vector<ClusterJob> out;
  for (const auto& [key, claim] : now.claims) {
    if (claim->request.empty()) continue;
    const KubePod* pod = nullptr;  // one that is not over, the oldest; else the newest
    for (const KubePod* one : users[key]) {
      const bool better = !pod || (pod->over() && !one->over()) ||
                          (pod->over() == one->over() && pod->over() == (one->meta.created > pod->meta.created));
      if (better) pod = one;
    }
    if (!pod) continue;
    // A claim that a second pod uses after the first is another job.
    const std::string uid = claim->meta.uid + "/" + pod->meta.uid;
    ClusterJob job = job_of(*claim, *pod, uid, claims_of_pod[pod->meta.uid] > 1);
    Known& mine = known(uid);
    mine.key = key;
    mine.pod_uid = pod->meta.uid;
    mine.pod_key = pod->meta.key();
    mine.gone = {};
    mine.seen = look_;
    if (job.refusal == ClusterJob::kHere) {
      mine.granted = false;
      ++cleared_;
    }
    mine.last = job;
    out.push_back(std::move(job));
  }
  std::vector<std::string> forgotten;
  for (auto& [uid, mine] : known_) {
    if (mine.seen == look_) continue;
    if (mine.gone == UnixTime{}) {
      mine.gone = clock_.now();
      if (mine.last.phase != ClusterJob::kEnded) {
        mine.last.outcome = ClusterJob::kCancelled;
        mine.last.state = "deleted";
        mine.last.ended = clock_.now();
      }
      mine.last.phase = ClusterJob::kEnded;
    }
    if (clock_.now() - mine.gone > kTellGone)
      forgotten.push_back(uid);
    else if (mine.last.number != 0)
      out.push_back(mine.last);
  }
  for (const std::string& uid : forgotten) {
    uids_.erase(known_[uid].number);
    known_.erase(uid);
  }
  return out;
}

Result<std::vector<ClusterNode>> KubeCluster::nodes() {
  if (const std::string trouble = view_.trouble(kSilence); !trouble.empty()) return io_error("{}", trouble);
  const KubeView::Copy now = view_.copy();
  const auto boards = boards_of(now.slices);
  struct Taken {
    int cpu_m = 0, mem_mib = 0;
    std::size_t pods = 0;
  };
  std::map<std::string, Taken> taken;
  for (const auto& [key, pod] : now.pods) {
    if (pod->node.empty() || pod->over()) continue;
    Taken& here = taken[pod->node];
    here.cpu_m += pod->cpu_m;
    here.mem_mib += pod->mem_mib;
    ++here.pods;
  }
  const std::lock_guard lock(mutex_);
  nodes_->clear();
  std::vector<ClusterNode> out;
  for (const auto& [key, node] : now.nodes) {
    const std::string& name = node->meta.name;
    (*nodes_)[name] = *node;
    ClusterNode one;
    one.name = name;
    one.up = node->ready && !node->cordoned;
    one.ours = boards.contains(name);
    one.state = !node->ready ? "not ready" : node->cordoned ? "cordoned" : "ready";
    one.facts = facts_of(*node, taken[name].pods);
    one.cpus = node->cpu_m;
    one.cpus_taken = taken[name].cpu_m;
    one.mem_mib = node->mem_mib;
    one.mem_taken_mib = taken[name].mem_mib;
    out.push_back(std::move(one));
  }
  return out;
}

void KubeCluster::forget() {
  const std::lock_guard lock(mutex_);
  divisions_.clear();
}

Result<Ok> KubeCluster::act(const std::vector<ClusterAction>& actions) {
  for (const ClusterAction& action : actions) act_on(action);
  return Ok{};
}

void KubeCluster::act_on(const ClusterAction& action) {
  std::string pod_uid, pod_key;
  {
    const std::lock_guard lock(mutex_);
    const auto mine = known_.find(action.memo);
    if (mine == known_.end()) return;
    pod_uid = mine->second.pod_uid;
    pod_key = mine->second.pod_key;
  }
  const std::string space = pod_key.substr(0, pod_key.find('/')), pod = pod_key.substr(pod_key.find('/') + 1);
  const auto tell = [&](const char* reason, const std::string& words) {
    if (events_) events_->tell(space, pod, pod_uid, reason, words);
  };
  switch (action.what) {
    case ClusterAction::kGrant:
      return tell("Placed",
                  fmt::format("smartmig assigns it {} of GPU {} on {}", action.slice, action.gpu, action.node));
    case ClusterAction::kTakeBack:
      (void)free(action.job.id);  // where it is refused, the next look shows why
      return;
    case ClusterAction::kRequeue: {
      if (!api_ || !claims_) return;
      Json eviction = {{"apiVersion", "policy/v1"}, {"kind", "Eviction"}};
      eviction["metadata"] = {{"namespace", space}, {"name", pod}};
      eviction["deleteOptions"] = {{"preconditions", {{"uid", pod_uid}}}};
      const auto done = api_->ask("POST", fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", space, pod), eviction);
      if (done && done->good()) {
        tell("Evicted", "a more urgent pod needs the slice");
        const std::lock_guard lock(mutex_);
        ++evicted_;
      }
      return;
    }
    case ClusterAction::kNote:
      return tell("Waiting", action.text);
    case ClusterAction::kNumber:
    case ClusterAction::kAskMore:
    case ClusterAction::kAccount:
    case ClusterAction::kPublish:
      return;
  }
}

void KubeCluster::add_metrics(MetricLines& lines) const {
  const std::lock_guard lock(mutex_);
  lines.counter("allocations_total", "Claims that were allocated.", double(allocated_));
  lines.counter("allocations_taken_back_total", "Allocations that were taken back.", double(taken_back_));
  lines.counter("allocations_cleared_total", "Allocations that the scheduler cleared before their pod started.",
                double(cleared_));
  lines.counter("write_conflicts_total", "Writes of claims that others had changed in the meantime.",
                double(conflicts_));
  lines.counter("evictions_total", "Pods evicted for more urgent ones.", double(evicted_));
}

}  // namespace smartmig
