// The recommended policy, right with and without deadlines, for a stream of jobs and for a batch of them.
//
// The planner by finishes (policy/planner/list_planner.h) decides where a job with a deadline waits: what counts is who
// is late. It also decides where a few jobs without a deadline wait: each is wanted as soon as possible, and room is
// left for those that come, as the arrivals seen say. A batch is decided about by `batch` (policy/planner/batch.h)
// until none waits: what counts is the end of them all. A batch are more jobs without deadlines than the fleet has
// compute slices, that came together or after which nothing came for long, measured by how long they will take; where
// many more come, it was none. For jobs that come one by one the planner's mean time from submit to end is less, and
// the queue ends as soon (docs/planner.md).
//
// Either copes with what the other has left: plans are made for the slices that exist and are being made, and what one
// keeps from decision to decision is corrected by what it finds.
//
// A start cannot be taken back, and the first job of a burst must not take the whole of the only free GPU: where a plan
// would leave no GPU idle, the jobs of a burst that still continues are looked at together (`gather`), if none has a
// deadline. If as many wait as there are slices and nothing tells one from another, more of them would change nothing.
#pragma once
#include <memory>

#include "policy/planner/batch.h"
#include "policy/planner/slice_price.h"
#include "sched/policy.h"

namespace smartmig {

struct BestOptions {
  double effort = 1;  // of batch
  // A burst goes on while the last job came less than that ago; in all a twentieth of the time that its jobs will take, but
  // four times that at least and twenty times at most.
  Time gather{};
  bool shared = false;                        // jobs that others need room beside (policy/planner/room.h) are no batch
  std::shared_ptr<ArrivalAverages> arrivals;  // seen, shared with the planner; null: its own
};

class BestPolicy : public Policy {
 public:
  explicit BestPolicy(std::unique_ptr<Policy> planner, BestOptions options = {})
      : planner_(std::move(planner)),
        batch_(0, options.effort, BatchOrder::kLongFirst),
        arrivals_({}, options.arrivals),
        gather_(options.gather),
        shared_(options.shared) {}
  void decide(const Cluster& cluster, Plan& plan) override;
  std::vector<PlannedStart> planned_starts(const Cluster& cluster) const override {
    return by_batch_ ? batch_.planned_starts(cluster) : planner_->planned_starts(cluster);
  }

 private:
  struct Queue {  // the waiting jobs
    std::size_t jobs = 0;
    Time first = kNever, last{-1};  // submits
    double slice_minutes = 0;       // on the size of each that takes fewest
    bool alike = true;              // each takes the same on every size
    double longest = 0;             // minutes of a job on its fastest size
  };
  bool deadline_waits(const Cluster& cluster);
  Queue look_at(const Cluster& cluster) const;
  bool is_batch(const Cluster& cluster, const Queue& queue);
  Time burst_goes_on_until(const Cluster& cluster, const Queue& queue) const;

  std::unique_ptr<Policy> planner_;
  BatchPolicy batch_;
  SlicePrice arrivals_;
  Time gather_;
  bool by_batch_ = false;  // at the last decision
  bool shared_ = false;
  std::size_t batch_jobs_ = 0, came_before_ = 0;  // jobs of the batch; arrivals, less those withdrawn, when it was seen
  JobId urgent_ = kNoJob;                         // waited with a deadline at the last decision
};

}  // namespace smartmig
