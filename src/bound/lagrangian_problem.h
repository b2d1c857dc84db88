// The relaxed problem that the Lagrangian bound solves, in plain numbers: minutes, watts, and costs in units of
//   energy_weight * watt-minutes + tardiness_weight * minutes of tardiness summed over jobs,
// divided at the end:
//   objective   energy_weight   tardiness_weight   divided by
//   et          a n             1                  n            (a e + t)
//   energy      1               0                  1
//   tardiness   0               1                  n
// The relaxation drops reshaping and placements in time. It keeps which busy slices fit on a GPU together, the watts of
// such a configuration, one slice at a time per job, release dates, and the time of each job on each size. In the world
// of hardware costs, a job without a restart cost also runs in one piece, and a stopped job holds a slice for its
// restart cost before it goes on.
#pragma once
#include <limits>
#include <string_view>
#include <vector>

#include "bound/power_minorant.h"
#include "model/cost.h"

namespace smartmig {

enum class Objective { kEt, kEnergy, kTardiness };
Result<Objective> parse_objective(std::string_view text);
const char* name_of(Objective objective);

// The schedules for which a bound holds: kFree all, kHardware those of the hardware cost model (model/cost.h).
enum class BoundWorld { kFree, kHardware };
Result<BoundWorld> parse_bound_world(std::string_view text);
const char* name_of(BoundWorld world);
inline BoundWorld bound_world(const CostModel& cost) { return cost.free() ? BoundWorld::kFree : BoundWorld::kHardware; }

struct BoundWeights {
  double energy = 0, tardiness = 0, divide_by = 1;
};
BoundWeights bound_weights(Objective objective, double a, std::size_t jobs);

struct BoundProblem {
  static constexpr double kNoDeadline = std::numeric_limits<double>::infinity();
  struct Option {
    double work = 0;    // minutes of the whole job on this class, on its fastest variant
    double charge = 0;  // cost per minute that the job pays in addition to the price
    int slice_class = 0;
  };
  struct Job {
    double release = 0, deadline = kNoDeadline;
    std::uint32_t first = 0, options = 0;  // index into `options`; none: the job takes no time
    double hold = 0;                       // slice-minutes that a stop costs; infinite: it runs in one piece
  };
  struct Configuration {
    std::vector<std::pair<int, double>> counts;  // (class, number), without zeros
    double cost = 0;                             // per minute
    std::size_t slices = 0;                      // busy ones
  };

  BoundWeights weights;
  std::vector<SliceClass> classes;
  std::vector<double> gpus;                                // by model
  std::vector<std::vector<Configuration>> configurations;  // by model, without the empty one
  std::vector<Job> jobs;
  std::vector<Option> options;
  double idle_rate = 0;       // cost of a minute with all boards idle
  double least_makespan = 0;  // minutes: the jobs cannot all be done before that
  std::vector<double> floor;  // by class: the largest k * y for which no configuration earns anything
  std::vector<double> tail;   // prices after the last window: like the floor, but better suited to the jobs; slightly
                              // below those that would earn
  Time first_release{}, horizon{};  // the fleet is surely not needed long after the horizon
  double mean_slices = 0;           // a lower bound on the mean number busy until the least makespan
  bool deadlines = false;           // whether any job has one
  bool stops_cost = false;          // whether any job has a hold

  // kInvalid if running a job may draw less than idling: the relaxation then has no lower bound.
  static Result<BoundProblem> make(const Platform& platform, const JobTable& jobs, Objective objective, double a,
                                   double share, BoundWorld world = BoundWorld::kFree);
  // The same for every `step`-th job and a fleet smaller by that factor: its prices suit the whole problem.
  BoundProblem sample(std::size_t step) const;
  bool windows_matter() const { return weights.tardiness > 0 && deadlines; }

 private:
  void improve_tail();
};

// The least time, in minutes, at which the last job can be done: for each release r, r + (least slice-minutes of all
// jobs released from then on) / (slices of the fleet); and each job's own fastest time.
double least_makespan_min(const Platform& platform, const JobTable& jobs);

}  // namespace smartmig
