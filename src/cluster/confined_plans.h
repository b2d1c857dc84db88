// Makes plans when some jobs may use only some nodes. Policies do not know nodes. So the policy decides on copies of
// the cluster in which the other GPUs are blocked and the other waiting jobs are missing: one copy for the jobs that
// may run anywhere, and one for each set of nodes to which others are confined.
//
//   order    the part whose oldest job has waited longest comes first, and the next one sees its plan. A GPU that one part
//            reshapes is not reshaped by a later one.
//   patience if the job that comes first among all has waited for kKeepAfter and is confined, it keeps one node, on which
//            no other part starts or reshapes anything until that job has started. One job at a time keeps a node.
//
// If no waiting job is confined, the policy sees the cluster itself. A copy costs O(rows of the job table). One owner.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "queue/policies/policies.h"

namespace smartmig {

class ConfinedPlans {
 public:
  using Gpus = std::vector<bool>;  // by GpuId
  struct Where {
    std::shared_ptr<const Gpus> ever;  // where it may run; null: everywhere
    std::shared_ptr<const Gpus> now;   // where its node has room for it now; null: everywhere
  };
  using Asked = std::function<Where(JobId)>;
  // `node_of`: by GpuId, equal for GPUs of one node.
  explicit ConfinedPlans(std::vector<int> node_of) : node_of_(std::move(node_of)) {}
  void decide(Policies& policies, const std::shared_ptr<const Platform>& platform, const Cluster& cluster,
              const Asked& where, Plan& plan);

  void forget();  // rows of jobs were renumbered

  static constexpr Time kKeepAfter{300'000'000};

 private:
  struct Part {
    Gpus gpus;
    std::vector<JobId> jobs;  // that wait, by arrival
    bool confined = false;
  };
  std::vector<Part> parts_of(const Cluster& cluster, const Asked& where) const;
  void keep_a_node(const Cluster& cluster, const std::vector<Part>& parts, const Asked& where);
  void take(const Plan& planned, const Part& part, const Gpus& open, Cluster& view, Plan& plan) const;

  std::vector<int> node_of_;
  std::map<Gpus, NamedPolicy> policies_;  // of confined parts
  JobId keeper_ = kNoJob;                 // the job that keeps a node
  int kept_node_ = -1;
};

}  // namespace smartmig
