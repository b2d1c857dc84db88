// The simulated world. Jobs arrive as the workload says and finish when Cluster expects them to; reshaping is
// instantaneous (paper costs) or a sequence of timed operations per GPU (hardware costs, sched/reshape_queue.h):
//   - an instance is unusable from the start of its destroy and usable from the end of its create
//   - each operation takes its profile's measured time, or CostModel::reshape where that is set
// Events of one instant come one by one: completions (by job), then instance changes, then arrivals (by job). Under
// hardware costs, where a start cannot be taken back, arrivals of one instant are decided about together, and ends.
// The run ends with the last completion.
//
// A world may begin in the middle of a run, from a copy of its cluster: what is running and what is still to come
// continue exactly; of the operations under way, which a cluster does not know, the wanted ones begin anew. Copy the
// SimFleet, too, where that matters.
#pragma once
#include <queue>
#include <vector>

#include "sched/fleet.h"
#include "sched/reshape_queue.h"
#include "sim/completion_heap.h"

namespace smartmig {

// A fleet of which what happens before an instant may be asked.
class BoundedFleet : public Fleet {
 public:
  virtual void stop_before(Time instant) = 0;  // next() says no to what happens later, and keeps it
};

class SimFleet : public BoundedFleet {
 public:
  explicit SimFleet(const Cluster& cluster);
  void stop_before(Time instant) override { horizon_ = instant; }
  // Jobs do not come at their times of submit: whoever asks this fleet tells of arrivals, and knows when all is over.
  void tell_no_arrivals(const Cluster& cluster);
  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;

 private:
  struct Operation {
    Time end;
    GpuId gpu;
    Layout creates;  // empty for a destroy
    bool operator>(const Operation& other) const {
      return end != other.end ? end > other.end : index(gpu) > index(other.gpu);
    }
  };
  // Starts the next operation of every GPU on its way to its target where one is possible; true if `event` tells of a
  // destroy.
  bool begin_operations(const Cluster& cluster, Time clock, Event& event);
  // Who ran beside one that came or went ends at another time, where neighbours slow each other.
  void expect_anew(const Cluster& cluster, GpuId gpu);
  void look_after_end(const Cluster& cluster);

  Time horizon_ = kNever;
  bool arrivals_ = true;
  JobId ended_ = kNoJob;  // told last, and its neighbours have not been looked at since
  std::size_t arrived_ = 0;
  CompletionHeap completions_;
  std::priority_queue<Operation, std::vector<Operation>, std::greater<>> operations_;
  ReshapeQueue reshapes_;
};

}  // namespace smartmig
