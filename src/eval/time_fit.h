// How long runs of one kind take: seconds = launch + work / (pace of the task * speed of the size). Paces and speeds
// are kept as logarithms and fitted by medians, so that a few odd runs do not matter. Pure.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace smartmig {

struct FitPoint {
  std::size_t task = 0, size = 0;  // sizes in order of growth
  double work = 1, seconds = 1;    // both above 0
};

struct TimeFit {
  double launch_s = 0;
  std::vector<double> log_speed;                               // by size
  std::vector<std::optional<double>> log_pace;                 // by task; nothing: no run of it
  std::optional<double> seconds(const FitPoint& point) const;  // predicted; nothing for a task without a pace
};

// The paces that go with given speeds and launch.
TimeFit paced(const std::vector<FitPoint>& points, std::size_t tasks, TimeFit fit);
// Speeds, from `start` where the runs do not tell (sizes that share no task with the others). Never falling with size.
TimeFit fit_speeds(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start,
                   double launch_s);
// Only runs of unequal work on one size of one task tell launch from work.
bool tells_launch(const std::vector<FitPoint>& points);
TimeFit fit_launch(const std::vector<FitPoint>& points, std::size_t tasks, const std::vector<double>& start);

}  // namespace smartmig
