// Gives PlainPlacer's results at a cost that does not grow with the queue: the same rule, the same plans to the byte.
//
// Waiting jobs are kept in heaps by turn from decision to decision, since the turn of a waiting job does not change.
// The few running jobs get new turns each time and are merged in. Jobs that run on the same slice types (and are in one
// group of the rule) share a heap: once one of them finds no slice, none of them will at this decision, so a free slice
// that suits nobody does not cost a walk over the queue. Under hardware costs the board is kept too, and only GPUs on
// which a job began or ended are reread.
//
// The kept state is valid if the cluster is the one of the last decision, every stop since then was requested here, and
// as many jobs wait as the heaps hold. Otherwise (another policy decided in between, a job was cancelled) everything is
// reread.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "policy/placing/plain_placer.h"

namespace smartmig {

class QueuePlacer : public Placer {
 public:
  explicit QueuePlacer(std::unique_ptr<TurnRule> rule) : rule_(std::move(rule)) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  struct Line {  // jobs that fit the same slices
    std::uint64_t runs_on = 0;
    int group = 0;
    std::vector<Turn> heap;  // the next job first
    bool full = false;       // no slice is left for them at this decision
  };

  Line& line_of(JobId job) { return lines_[line_of_[index(job)]]; }
  std::uint32_t find_line(const Cluster& cluster, JobId job);
  void push(const Cluster& cluster, JobId job);
  bool follow(const Cluster& cluster);  // false: the kept state is not valid
  void read_anew(const Cluster& cluster);
  void list_running(const Cluster& cluster);
  void serve(const Cluster& cluster);

  std::unique_ptr<TurnRule> rule_;
  PlacingState board_;
  PlanDiff diff_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> line_of_;  // by job, once it has arrived
  std::size_t waiting_ = 0;             // in all heaps
  std::vector<Turn> running_;           // by turn; under paper costs
  std::vector<JobId> running_jobs_;     // the same
  std::vector<std::pair<JobId, Slot>> assigned_;
  std::vector<JobId> begun_, stopped_;  // by the last plan: taken from a heap; stopped, whether started again or not
  std::uint64_t identity_ = 0, expected_decision_ = 0, expected_stops_ = 0, version_ = 0;
};

}  // namespace smartmig
