// Waiting jobs scheduled on paper to the end of the last one, where a job runs to its end once started.
//
// A schedule is, for each GPU, a list of runs: a job and the placement it gets. Runs are laid down in the order of the
// list, each as early as the memory slots of its placement are free, after the instances in its way are destroyed and
// its own is made. So every list is a schedule, whatever the running jobs do, and a search over lists needs no repair.
//
// What a schedule is worth (less is better):
//
//   (1 - w) * time until all is done + w * joules until then,   each over its value with every job on a whole GPU
//
// and small shares that settle ties and lead a search on: how evenly the slots end, the order of the jobs, and the
// seconds of changes; and what runs teach.
//
// Order: the short come first, by the mean end of the jobs; or, of a closed batch of a few rounds of jobs that are not
// too different (BatchOrder::kLongFirst), the long. Times are never quite as planned, and what has not begun can still
// go elsewhere, so the short ones at the end fill what the others leave: starts are weighed by area^2. If a run takes
// the whole fleet nothing can go elsewhere, and its start counts as any other's; between the two by the square of the
// share of the slices that a run has. Units: seconds from now, joules.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/cluster.h"

namespace smartmig {

struct PlannedRun {
  std::uint16_t job;   // index into ScheduleProblem::jobs
  std::uint8_t where;  // placement
};
using PlannedRuns = std::vector<PlannedRun>;

// A GPU as the runs laid down so far leave it.
struct PaperBoard {
  static constexpr std::size_t kSlots = 16;
  static constexpr std::uint8_t kNothing = 255;
  std::array<double, kSlots> free_s{};          // by memory slot
  std::array<std::uint8_t, kSlots> instance{};  // the placement that stands there
  double changes_until_s = 0;                   // the last change laid down
  double end_s = 0, order_s = 0, joules = 0, change_s = 0;
  double taught_s = 0;  // slice-seconds that its runs are worth for what they teach (Job::teaches)
};

enum class BatchOrder : std::uint8_t { kShortFirst, kLongFirst };

struct ScheduleValue {
  double end_s = 0, order_s = 0, joules = 0, change_s = 0, squares_s2 = 0, taught_s = 0;
};

class ScheduleProblem {
 public:
  static constexpr double kEven = 0.15;
  // The waiting `jobs` on the GPUs as they are; `energy_weight` is w. A job that no open GPU takes is left out.
  ScheduleProblem(const Cluster& cluster, std::span<const JobId> jobs, double energy_weight,
                  BatchOrder order = BatchOrder::kShortFirst);

  struct Geometry {                                    // of a GPU model, by placement
    std::vector<std::uint16_t> mask;                   // memory slots
    std::vector<std::uint8_t> first, slices, offered;  // first slot; offered: placements that jobs are put on
    std::vector<double> create_s, destroy_s;
    std::vector<TypeId> type;
    std::size_t slots = 0, ends = 0;  // memory slots; those of them that count for how evenly they end
  };

  std::size_t jobs() const { return ids_.size(); }
  std::size_t gpus() const { return boards_.size(); }
  JobId id(std::size_t job) const { return ids_[job]; }
  const Geometry& geometry(std::size_t gpu) const { return geometries_[model_of_[gpu]]; }
  const PaperBoard& board(std::size_t gpu) const { return boards_[gpu]; }  // now, nothing laid down
  bool open(std::size_t gpu) const { return open_[gpu]; }
  int slices() const { return slices_; }  // compute slices of open GPUs
  // Seconds of the whole run; negative where it cannot run there.
  double run_s(std::size_t job, std::size_t gpu, std::size_t where) const {
    return run_s_[job * types_ + index(geometry(gpu).type[where])];
  }
  bool alike(std::size_t a, std::size_t b) const;  // the same time, joules and lesson on every size
  double least_area_s(std::size_t job) const { return least_area_s_[job]; }        // slice-seconds
  double efficient_run_s(std::size_t job) const { return efficient_run_s_[job]; }  // on the size of least area
  int efficient_slices(std::size_t job) const { return efficient_slices_[job]; }

  // Lays one more run down on the board; false where the job cannot run there. REQUIRES: an open GPU.
  bool lay(std::size_t gpu, PlannedRun run, PaperBoard& board) const;
  ScheduleValue value_of(std::size_t gpu, const PaperBoard& board) const;
  // Of the sum over GPUs (end: the greatest). `even`: the share of how evenly the slots end, which leads a search on
  // where the end itself does not change.
  double worth(const ScheduleValue& all, double even = kEven) const;

 private:
  void read_board(const Cluster& cluster, std::size_t gpu);
  void read_job(const Cluster& cluster, JobId job);
  bool long_first_pays() const;

  double weight_;
  std::optional<double> fixed_change_s_;
  std::vector<Geometry> geometries_;
  std::vector<std::uint8_t> model_of_, open_;
  std::vector<PaperBoard> boards_;
  std::vector<double> on_watts_;  // by GPU: what it draws once while anything runs
  double idle_watts_ = 0;         // of all
  int slices_ = 0;
  std::size_t ends_ = 0, types_ = 0;
  std::vector<JobId> ids_;
  std::vector<double> run_s_, joules_, taught_s_;                // [job][type]
  std::vector<double> least_area_s_, efficient_run_s_, weighs_;  // weighs: of its start; 1 in the mean
  std::vector<std::uint8_t> efficient_slices_;
  double whole_end_s_ = 0, whole_joules_ = 0;  // every job on its largest slice, one after another
};

}  // namespace smartmig
