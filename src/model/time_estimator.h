// Estimates how long a job will take, from its announced time and from how similar jobs' announced times turned out.
//
// Within a group of jobs (a user's, a command's, a kind's) the logarithm of the true time is a straight line in the
// logarithm of the announced ("told") one, plus noise:
//
//   log true = log told + shift + slope * (log told - its mean in the group) + noise
//
// shift = 0, slope = 0 believes what is told. slope = -1 believes the group's mean and ignores what is told. Least
// squares finds the compromise: for told times that scatter about the true ones it is the mean of the told time and of
// the group's usual time, each weighted by its precision. The shift absorbs a constant factor.
//
// Groups are given from the general to the special, and each is shrunk towards the previous one: the shift as if
// kShiftRuns runs lay on the other's line, the slope by kSlopeRuns, the noise by kNoiseRuns. Before the first group
// comes a stranger, whose told time is right within kStranger. A missing told time counts as kUntold, in groups of its
// own; their shift is the usual time of the group's jobs. The first of such a group is as uncertain as a stranger's.
//
// The spread of a belief is the noise plus the uncertainty of the line. A run that is shorter than the belief by more
// than kShortest spreads counts as shorter by exactly these: a run of one second tells as much about the long runs as
// one of ten.
//
// A run that was cut at its time limit counts as the believed mean of the runs longer than that. So does a job that
// still runs, for the belief of the moment: a group none of whose jobs has ended yet takes longer than the longest has
// run. With told times it counts in its most special group alone: what is told of other groups tells them apart. The
// mean and the belief depend on each other and are found in a few rounds. Groups of kFewRuns ended runs and more know
// enough without them. Bounds: above `runs` runs of a group the oldest fade; above `groups` groups, those that learned
// longest ago are dropped.
//
// Pure and deterministic; units: natural logarithms of seconds.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct BelievedTime {
  double log_median = 0;
  double spread = 0;
};

class TimeEstimator {
 public:
  static constexpr double kUntold = 6.4;  // 10 minutes

  struct Bounds {
    double runs = 1e9;
    std::size_t groups = 1'000'000;
  };
  TimeEstimator() = default;
  explicit TimeEstimator(Bounds bounds) : bounds_(bounds) {}

  struct Running {  // a job that has run for `ran`; its groups are not empty
    std::vector<std::string> groups;
    std::optional<double> told;
    double ran = 0;
  };
  static constexpr double kFewRuns = 20;

  // Times are above 0, as logarithms. `usual`: the time of a job without a told time, before any such job has ended.
  BelievedTime believe(std::span<const std::string> groups, std::optional<double> told, double usual = kUntold) const;
  BelievedTime believe(std::span<const std::string> groups, std::optional<double> told, double usual,
                       std::span<const Running> running) const;
  bool knows_enough(std::span<const std::string> groups, bool told) const;  // running jobs tell nothing
  void learn(std::span<const std::string> groups, std::optional<double> told, double took);
  void learn_cut(std::span<const std::string> groups, std::optional<double> told, double ran);

  std::string to_json() const;  // one line; each list begins with the groups that learned longest ago
  // Strict; `name` is for error messages. Drops what exceeds the bounds.
  static Result<TimeEstimator> parse(const std::string& name, std::string_view text, Bounds bounds);

 private:
  struct Runs {  // x: told; r: took - told; sums of products of deviations from the means
    double n = 0, mean_x = 0, mean_r = 0, xx = 0, xr = 0, rr = 0;
    std::uint64_t learned = 0;  // counter of all runs at the group's last one
    void add(double x, double r, double most);
  };
  using Groups = std::map<std::string, Runs, std::less<>>;
  struct Line {
    double at = 0, shift = 0, slope = 0, variance = 0;  // variance: of the noise
    double runs = 0, xx = 0;                            // the evidence for the shift and the slope
    double value(double x) const { return shift + slope * (x - at); }
  };
  static Line refined(const Line& general, const Runs& runs);
  static BelievedTime believe(const Groups& ended, const Groups* with_running, std::span<const std::string> groups,
                              std::optional<double> told, double usual);

  void bound(Groups& groups) const;

  Bounds bounds_;
  std::uint64_t learned_ = 0;
  Groups told_, untold_;
};

}  // namespace smartmig
