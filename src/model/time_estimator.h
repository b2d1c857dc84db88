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
// The spread of a belief is the noise and what is not known of the line, times kTails: plans look at the upper tail, and
// those of run times are lighter than a lognormal's with the same spread. For the same reason a run that is shorter than
// was believed by more than kShortest spreads counts as one that is shorter by these: a run of a second says no more of
// the long ones than one of ten.
//
// Pure and deterministic; units: natural logarithms of seconds.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

namespace smartmig {

struct BelievedTime {
  double log_median = 0;
  double spread = 0;
};

class TimeEstimator {
 public:
  // REQUIRES of both: times above 0, as logarithms.
  BelievedTime believe(std::span<const std::string> groups, std::optional<double> told) const;
  void learn(std::span<const std::string> groups, std::optional<double> told, double took);

 private:
  struct Runs {  // x: told; r: took - told; sums of products of deviations from the means
    double n = 0, mean_x = 0, mean_r = 0, xx = 0, xr = 0, rr = 0;
    void add(double x, double r);
  };
  struct Line {
    double at = 0, shift = 0, slope = 0, variance = 0;  // variance: of the noise
    double runs = 0, xx = 0;                            // that speak for the shift and the slope
    double value(double x) const { return shift + slope * (x - at); }
  };
  static Line refined(const Line& general, const Runs& runs);

  std::map<std::string, Runs, std::less<>> told_, untold_;
};

}  // namespace smartmig
