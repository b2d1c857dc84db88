// The simulated world. Jobs arrive as the workload says and finish when Cluster expects them to. Reshaping is
// instantaneous (paper costs) or a sequence of timed operations per GPU (hardware costs, sched/reshape_queue.h):
//   - an instance is unusable from the start of its destroy and usable from the end of its create
//   - each operation takes its profile's measured time, or CostModel::reshape if that is set
// Events of one instant come one by one: completions (by job), then instance changes, then arrivals (by job). Under
// hardware costs a start cannot be undone, so all arrivals of one instant share a decision, and so do all ends. The run
// ends with the last completion.
//
// A world may begin in the middle of a run, from a copy of its cluster. Running jobs and future arrivals continue
// exactly. A cluster does not know the operations under way; those still wanted start again. If that matters, copy the
// SimFleet too.
#pragma once
#include <queue>
#include <vector>

#include "sched/fleet.h"
#include "sched/reshape_queue.h"
#include "sim/completion_heap.h"

namespace smartmig {

class SimFleet : public Fleet {
 public:
  explicit SimFleet(const Cluster& cluster);
  void stop_before(Time instant) override { horizon_ = instant; }
  // Suppresses arrivals at submit times: the owner of this fleet reports arrivals, and knows when all is over.
  void tell_no_arrivals(const Cluster& cluster);
  bool next(const Cluster& cluster, Event& event) override;
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;

 private:
  struct Operation {
    Time end;
    GpuId gpu;
    Layout creates;  // empty: a destroy
    bool operator>(const Operation& other) const {
      return end != other.end ? end > other.end : index(gpu) > index(other.gpu);
    }
  };
  // Starts the next possible operation of every GPU on its way to its target; true if `event` reports a destroy.
  bool begin_operations(const Cluster& cluster, Time clock, Event& event);
  // Updates the ends of the neighbours of a job that came or left, if neighbours slow each other.
  void expect_anew(const Cluster& cluster, GpuId gpu);
  void look_after_end(const Cluster& cluster);

  Time horizon_ = kNever;
  bool arrivals_ = true;
  JobId ended_ = kNoJob;  // the last reported end, whose neighbours are not updated yet
  std::size_t arrived_ = 0;
  CompletionHeap completions_;
  std::priority_queue<Operation, std::vector<Operation>, std::greater<>> operations_;
  ReshapeQueue reshapes_;
};

}  // namespace smartmig
