// The plain placer. At every decision it orders the candidate jobs, lets a rule choose a free slice for each until none
// is left, and writes the difference from the running state. Tests compare faster placers with this definition. A new
// placing rule is a class with two functions (docs/policies.md).
#pragma once
#include <memory>
#include <vector>

#include "policy/placing/placing_state.h"
#include "policy/placing/plan_diff.h"

namespace smartmig {

class PlacingRule {
 public:
  virtual ~PlacingRule() = default;
  // Orders the candidates, which come by arrival: all unfinished jobs under paper costs, the waiting ones under
  // hardware costs.
  virtual void order(const Cluster& cluster, std::vector<JobId>& jobs) = 0;
  // A free slice of the board for this job, or none.
  virtual Slot choose(const Cluster& cluster, const PlacingState& board, JobId job) = 0;
  // Whether jobs may be given other chosen slices of the same type. False if the rule depends on the GPU of a job.
  virtual bool slices_interchangeable() const { return true; }
};

// When a job chooses: by a number of its rule, then deadline, then job. Made-up deadlines come after all others.
struct Turn {
  std::int64_t number;
  bool made_up;
  Time deadline;
  JobId job;
  bool operator<(const Turn& other) const {
    if (number != other.number) return number < other.number;
    if (made_up != other.made_up) return other.made_up;
    return deadline != other.deadline ? deadline < other.deadline : index(job) < index(other.job);
  }
};

// A rule that orders by turns, as QueuePlacer (queue_placer.h) requires.
class TurnRule : public PlacingRule {
 public:
  // REQUIRES: constant while the job waits.
  virtual std::int64_t turn(const Cluster& cluster, JobId job) const = 0;
  Turn turn_of(const Cluster& cluster, JobId job) const {
    const Job& known = cluster.jobs().job(job);
    return {turn(cluster, job), known.deadline_made_up, known.deadline, job};
  }
  // Among jobs of one group that run on the same slice types, either all find a slice on a board or none does.
  virtual int group(const Cluster&, JobId) const { return 0; }
  void order(const Cluster& cluster, std::vector<JobId>& jobs) final;
};

class PlainPlacer : public Placer {
 public:
  explicit PlainPlacer(std::unique_ptr<PlacingRule> rule) : rule_(std::move(rule)) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  std::unique_ptr<PlacingRule> rule_;
  PlacingState board_;
  std::vector<JobId> jobs_;
  std::vector<std::pair<JobId, Slot>> assigned_;
  PlanDiff diff_;
};

}  // namespace smartmig
