// The GPUs on their way from their layout to their target, and the instance operations that lead there. The simulated
// and the live fleet share it:
//   - GPUs begin their operations in the order in which their reshapes were asked for;
//   - operations on one GPU are sequential;
//   - a slice that must go is destroyed once idle; wanted ones are created where they fit, lowest placement first;
//   - with CostModel::reshape, one operation does all that is possible at once.
// The queue knows which GPUs are in an operation, not how long it takes. Not thread-safe; one owner.
#pragma once
#include <vector>

#include "model/cluster.h"

namespace smartmig {

struct InstanceChange {
  GpuId gpu = kNoGpu;
  Layout destroys, creates;  // one slice in one of them, or with CostModel::reshape any number in both
  bool empty() const { return destroys.empty() && creates.empty(); }
};

// What this GPU can do next towards its target; empty if a busy slice is in the way.
InstanceChange next_change(const Cluster& cluster, GpuId gpu);

class ReshapeQueue {
 public:
  explicit ReshapeQueue(const Cluster& cluster);  // queues the GPUs whose reshapes are under way, none of them in an
                                                  // operation

  void asked(GpuId gpu);  // appends the GPU, unless it is already in the queue
  void ended(GpuId gpu) { gpus_[index(gpu)].operating = false; }
  bool operating(GpuId gpu) const { return gpus_[index(gpu)].operating; }
  const std::vector<GpuId>& under_way() const { return queue_; }

  // Calls begin(change) for each GPU that has something to do, is in no operation and passes may_begin(gpu). The GPU is
  // then in an operation. Stops once begin() returns true, and returns that. GPUs that have reached their target leave
  // the queue.
  template <class MayBegin, class Begin>
  bool begin_operations(const Cluster& cluster, MayBegin may_begin, Begin begin) {
    for (std::size_t i = 0; i < queue_.size();) {
      const GpuId gpu = queue_[i];
      State& state = gpus_[index(gpu)];
      if (!state.operating && cluster.gpu(gpu).layout == cluster.gpu(gpu).target) {
        state.queued = false;
        queue_.erase(queue_.begin() + std::ptrdiff_t(i));
        continue;
      }
      ++i;
      if (state.operating || !may_begin(gpu)) continue;
      const InstanceChange change = next_change(cluster, gpu);
      if (change.empty()) continue;
      state.operating = true;
      if (begin(change)) return true;
    }
    return false;
  }

 private:
  struct State {
    bool queued = false, operating = false;
  };
  std::vector<GpuId> queue_;  // in the order of the requests
  std::vector<State> gpus_;
};

}  // namespace smartmig
