// How long a job will take, from what is told of it and from how the told times of its like turned out.
//
// Within a group of jobs (a user's, a command's, a kind's) the logarithm of the true time is taken to be a straight line
// of the logarithm of the told one, and noise:
//
//   log true = log told + shift + slope * (log told - its mean in the group) + noise
//
// shift = 0, slope = 0 believes what is told. slope = -1 believes the group's mean, whatever is told. Least squares finds
// what lies between: for told times that scatter about the true ones it is the mean of the told time and of what the
// group usually takes, each weighed by its precision. A constant factor ends in the shift.
//
// Groups are given from the general to the special, and each is shrunk towards the one before it: the shift as if
// kShiftRuns runs lay on the other's line, the slope by kSlopeRuns, the noise by kNoiseRuns. Before the first is a
// stranger, whose told time is taken to be right within kStranger. What is not told is taken to be told as kUntold, by
// groups of their own: there the shift is what jobs of the group usually take.
//
// The spread of a belief is the noise and what is not known of the line. A run that is shorter than was believed by more
// than kShortest spreads counts as one that is shorter by these: a run of a second says no more of the long ones than one
// of ten.
//
// A run that was cut at its time limit counts as one of the mean length that is believed of runs longer than that.
// Bounded: above `runs` runs of a group the oldest fade, above `groups` groups those go that learned longest ago.
//
// Pure and deterministic; units: natural logarithms of seconds.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

  // Of all: times above 0, as logarithms. `usual`: of a job of which nothing is told, before any such job has ended.
  BelievedTime believe(std::span<const std::string> groups, std::optional<double> told, double usual = kUntold) const;
  void learn(std::span<const std::string> groups, std::optional<double> told, double took);
  void learn_cut(std::span<const std::string> groups, std::optional<double> told, double ran);

  std::string to_json() const;  // one line; of each list those first that learned longest ago
  // Strict; `name` is for complaints. What is above the bounds is left out.
  static Result<TimeEstimator> parse(const std::string& name, std::string_view text, Bounds bounds);

 private:
  struct Runs {  // x: told; r: took - told; sums of products of deviations from the means
    double n = 0, mean_x = 0, mean_r = 0, xx = 0, xr = 0, rr = 0;
    std::uint64_t learned = 0;  // the last, of all runs
    void add(double x, double r, double most);
  };
  using Groups = std::map<std::string, Runs, std::less<>>;
  struct Line {
    double at = 0, shift = 0, slope = 0, variance = 0;  // variance: of the noise
    double runs = 0, xx = 0;                            // that speak for the shift and the slope
    double value(double x) const { return shift + slope * (x - at); }
  };
  static Line refined(const Line& general, const Runs& runs);

  void bound(Groups& groups) const;

  Bounds bounds_;
  std::uint64_t learned_ = 0;
  Groups told_, untold_;
};

}  // namespace smartmig
