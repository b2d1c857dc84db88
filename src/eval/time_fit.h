// Fits how long runs of one kind take: seconds = launch + work / (pace of the task * speed of the size). Paces and
// speeds are logarithms, fitted by medians, so a few odd runs do not matter. Pure.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace smartmig {

struct FitPoint {
  std::size_t task = 0, size = 0;  // sizes by growth
  double work = 1, seconds = 1;    // both above 0
};

struct TimeFit {
  double launch_s = 0;
  std::vector<double> log_speed;                               // by size
  std::vector<std::optional<double>> log_pace;                 // by task; nullopt: it has no run
  std::optional<double> seconds(const FitPoint& point) const;  // predicted; nullopt for a task without a pace
};

// The paces for given speeds and launch.
TimeFit paced(const std::vector<FitPoint>& points, std::size_t tasks, TimeFit fit);
// The speeds, taken from `start` where the runs give no evidence (sizes that share no task with the others). Never
// falling with size.
TimeFit fit_speeds(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start,
                   double launch_s);
// Only runs of unequal work on one size of one task distinguish launch from work.
bool tells_launch(const std::vector<FitPoint>& points);
TimeFit fit_launch(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start);

}  // namespace smartmig
