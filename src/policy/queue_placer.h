// The answers of PlainPlacer at a cost that does not grow with the queue: the same rule, the same plans to the byte.
//
// Waiting jobs stand in heaps in the order of their turns, kept from decision to decision; the turn of a waiting job
// does not change. The running ones, few, take their turns anew and are merged in. Jobs that run on the same slice
// types (and are of one group of the rule) share a heap: once one of them finds no slice, none of them will at this
// decision, so a free slice that nobody fits does not cost a walk over the queue. Under hardware costs the board is kept
// too, and only GPUs on which a job began or ended are read anew.
//
// What was kept is right if the cluster is the one of the last decision, every stop since then was asked for here, and
// as many jobs wait as the heaps hold; else (another policy decided in between, a job was cancelled) all is read anew.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "policy/plain_placer.h"

namespace smartmig {

class QueuePlacer : public Placer {
 public:
  explicit QueuePlacer(std::unique_ptr<TurnRule> rule) : rule_(std::move(rule)) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  struct Line {  // jobs that fit alike
    std::uint64_t runs_on = 0;
    int group = 0;
    std::vector<Turn> heap;  // the next one first
    bool full = false;       // this decision has no slice left for them
  };

  Line& line_of(JobId job) { return lines_[line_of_[index(job)]]; }
  std::uint32_t find_line(const Cluster& cluster, JobId job);
  void push(const Cluster& cluster, JobId job);
  bool follow(const Cluster& cluster);  // false: what was kept is not what is
  void read_anew(const Cluster& cluster);
  void list_running(const Cluster& cluster);
  void serve(const Cluster& cluster);

  std::unique_ptr<TurnRule> rule_;
  Board board_;
  PlanDiff diff_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> line_of_;  // by job, once it has come
  std::size_t waiting_ = 0;             // in all heaps
  std::vector<Turn> running_;           // in order; under paper costs
  std::vector<JobId> running_jobs_;     // the same
  std::vector<std::pair<JobId, Slot>> assigned_;
  std::vector<JobId> begun_, stopped_;  // by the last plan: taken from a heap; stopped, whether started again or not
  std::uint64_t identity_ = 0, expected_decision_ = 0, expected_stops_ = 0, version_ = 0;
};

}  // namespace smartmig
