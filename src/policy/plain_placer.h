// The plain placer: at every decision, order the candidate jobs, let a rule choose a free slice for each until none is
// left, and write the difference to what runs. This is the definition that faster placers are tested against; a new
// placing rule is a class with two functions (docs/policies.md).
//
// Under paper costs equal slices are interchangeable: which of the chosen slices of one type a job gets changes neither
// its speed nor, with a table of watts by busy slices, any GPU's power, and everything is placed anew at the next
// event. So a job that stays on its type keeps its slice if that slice is among the chosen ones; the others take the
// chosen slices that are left, in order of choosing, lowest first (GPUs by mean slice size, slices small to large). A
// job gets the very slice that the rule chose where that matters: under hardware costs (it stays for good), with power
// that depends on the job, and for rules that keep groups of GPUs apart.
#pragma once
#include <memory>
#include <vector>

#include "policy/board.h"

namespace smartmig {

class PlacingRule {
 public:
  virtual ~PlacingRule() = default;
  // Orders the candidates (all unfinished jobs under paper costs, the waiting ones under hardware costs), which come in
  // order of arrival.
  virtual void order(const Cluster& cluster, std::vector<JobId>& jobs) = 0;
  // A free slice of the board for this job, or none.
  virtual Slot choose(const Cluster& cluster, const Board& board, JobId job) = 0;
  // May jobs be given other chosen slices of the same type? Not when the rule cares which GPU a job is on.
  virtual bool slices_interchangeable() const { return true; }
};

class PlainPlacer : public Placer {
 public:
  explicit PlainPlacer(std::unique_ptr<PlacingRule> rule) : rule_(std::move(rule)) {}
  void place(const Cluster& cluster, const UsableSlices& usable, Plan& plan) override;

 private:
  void keep_exact(const Cluster& cluster, Plan& plan);
  void keep_by_type(const Cluster& cluster, Plan& plan);
  Start hand_out(const Platform& platform, JobId job, TypeId type);

  std::unique_ptr<PlacingRule> rule_;
  Board board_;
  std::vector<JobId> jobs_;
  std::vector<std::pair<JobId, Slot>> assigned_;
  std::vector<std::uint8_t> stays_;    // by job
  std::vector<std::uint32_t> chosen_;  // by GPU: placements chosen and not yet handed out
};

}  // namespace smartmig
