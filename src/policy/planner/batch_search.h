// Looks for a good schedule on paper (policy/planner/batch_schedule.h), within a counted amount of work, so that a
// decision takes bounded time and the same inputs give the same schedule.
//
// 1. Starts: the jobs in two orders (longest first; widest first), each to the placement of least
//      end + p * slice-seconds it takes beyond its thriftiest size / slices of the fleet
//    for several p: from every job as soon as possible (p = 0) to every job on its thriftiest size. The best is kept.
// 2. Refinement: a job gets another placement, moves to another place in a list or to another GPU, or two jobs trade
//    places. A move is kept where the schedule is not worse by more than a threshold that falls to nothing, and in the
//    end the best schedule seen counts.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "policy/planner/batch_schedule.h"

namespace smartmig {

class BatchSearch {
 public:
  BatchSearch(const ScheduleProblem& problem, std::uint64_t seed) : problem_(problem), rng_(seed) {}

  // What was planned before is one more start. REQUIRES: `lists` has a list for each GPU, no job twice.
  void begin_with(std::vector<PlannedRuns> lists);
  // Jobs in no list are added at the ends of the lists. `thorough`: also tries schedules made anew.
  void complete(bool thorough);
  void refine(std::int64_t moves, double threshold, std::int64_t work);

  const std::vector<PlannedRuns>& lists() const { return lists_; }
  double worth() const { return worth_; }
  const ScheduleValue& value() const { return all_; }

 private:
  struct Trial {
    std::vector<PlannedRuns> lists;
    double worth = 0;
  };
  std::vector<PlannedRuns> extended(std::vector<PlannedRuns> lists, std::span<const std::uint16_t> jobs,
                                    double price) const;
  void take(std::vector<PlannedRuns> lists);
  ScheduleValue laid(std::size_t gpu, const PlannedRuns& runs, bool& fits);
  bool propose(std::size_t& first, std::size_t& second);
  std::size_t position(std::size_t gpu, std::uint16_t job) const;

  const ScheduleProblem& problem_;
  Rng rng_;
  std::vector<PlannedRuns> lists_;
  std::vector<ScheduleValue> values_;  // by GPU
  std::vector<std::uint32_t> gpu_of_;  // by job
  std::vector<std::uint32_t> open_;
  ScheduleValue all_;
  double worth_ = 0;
  PlannedRuns trial_[2];
  std::int64_t laid_ = 0;  // runs laid down: the work done
};

}  // namespace smartmig
