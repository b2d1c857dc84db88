// Projects the peak memory that a running job will reach, from samples (seconds since its start, MiB) of its slice,
// with an uncertainty. Decides whether to restart the job on a larger slice now. Pure: no clock, no device; one object
// per attempt.
//
// Samples. A median of three removes single spikes. The rest is kept as the highs of at most kBins equal intervals of
// time, which double in width when they run out: memory is O(1), an update O(1), a forecast O(kBins). The projected
// curve is E(t), the highest so far, so cache resets and freed buffers do not lower it.
//
// Shapes. Candidates are flat, and for the whole, the last half and the last quarter of the time so far a straight
// line, a square root, and three to six saturating exponentials, each fitted by least squares and anchored at E(now).
// Goodness of fit earns no trust. Each shape is refitted as of 1/2, 3/4 and 7/8 of the time so far and predicts now.
// Its miss there, in MiB per second of horizon and with the noise over the time so far, is u. Its weight is
// proportional to prior / u^3, and its standard deviation at horizon h is u h.
//
// How long growth goes on. Growth that has lasted g seconds lasts a further X with P(X > x) = (g / (g + x))^alpha, so
// that a warm-up of seconds does not count as a leak of hours. The job's end T is uncertain too: around the expected
// end by a factor of e^(0.35 z), or, if none is known or it has passed, P(T > x) = now / x. The forecast is the mixture
// of shapes x five quantiles of X x five of T: at most 475 normal distributions of the peak.
//
// Verdict. R: seconds a restart costs; l: work lost if restarted now (0 after a checkpoint); f: work lost if it failed
// now. Restarting costs  R + l.  Going on costs  sum over outcomes of P(fail) (R + f + min(x, d)),  x the seconds until
// the limit is passed. d = kPatience * elapsed bounds the cost of waiting: a job that goes on is judged again with more
// data, so it need not run into the failure. The verdict is to restart when the first cost is less, the limit is passed
// with probability kSure or more, and both held kAgain times in a row.
#pragma once
#include <array>
#include <vector>

namespace smartmig {

struct RestartCosts {
  double restart_s = 30;         // R: from stop to making progress again
  double lost_if_restarted = 0;  // l, seconds of work; 0 if the job checkpoints on a signal
  double lost_if_failed = 0;     // f, seconds of work since the last checkpoint, or since the start
};

struct Passing {
  double probability = 0;
  double after_s = 0;  // expected seconds from now until the limit is passed, if that happens
};

struct RestartVerdict {
  bool restart = false;
  Passing passing;
  double cost_now_s = 0, cost_go_on_s = 0;  // expected lost seconds of each choice
  double needs_mib = 0;                     // if restart: p90 of the peak, the size that the next slice should have
};

class MemoryForecast {
 public:
  double seen_mib() const { return seen_; }  // the highest sample so far
  double quantile(double q) const;           // of the peak by the end, MiB; 0 < q < 1
  Passing passing(double limit_mib) const;
  RestartVerdict weigh(double limit_mib, const RestartCosts& costs) const;  // applies the rule above once

 private:
  friend class MemoryProjection;
  struct Curve {  // E(now + h) = now_mib + slope * (basis(now + h) - basis(now))
    enum Kind { kFlat, kLine, kRoot, kSaturating } kind = kFlat;
    double slope = 0, begin = 0, tau = 1, weight = 0, miss = 0;
    double basis(double t) const;
  };
  struct Outcome {
    double mib, deviation, weight, horizon_s;
    int curve;
  };
  static double probability_above(const Outcome& outcome, double limit_mib);
  double probability_above(double limit_mib) const;  // passing(limit_mib).probability, sooner
  double gain(const Curve& curve, double horizon_s) const;
  double seconds_to(const Curve& curve, double limit_mib, double horizon_s) const;

  double now_s_ = 0, level_ = 0, seen_ = 0;
  std::vector<Curve> curves_;
  std::vector<Outcome> outcomes_;
};

class MemoryProjection {
 public:
  static constexpr int kBins = 96, kAgain = 3, kFewest = 8;
  static constexpr double kAlpha = 0.25, kPatience = 1, kSure = 0.5;

  // Ignores samples that are out of order, negative or not finite. Gaps are harmless.
  void add(double at_s, double mib);
  int samples() const { return samples_; }
  double now_s() const { return last_at_; }

  // expected_total_s: run time from start to end on this slice; 0 or less: unknown. With fewer than kFewest samples,
  // the forecast is the highest sample.
  MemoryForecast forecast(double expected_total_s) const;

  // Call it at most once per sample: it counts how often in a row a restart was the better choice.
  RestartVerdict verdict(double limit_mib, double expected_total_s, const RestartCosts& costs);

  // The rule of MIGM (arXiv 2508.18556), for jobs whose end is known: a least-squares line through the second half of
  // the time so far, anchored at the highest so far and extended to the end. It restarts once the line passes the limit
  // there kAgain times in a row, whatever that costs. Without an expected end, or after it, it never restarts.
  RestartVerdict line_verdict(double limit_mib, double expected_total_s);

 private:
  struct Bin {
    double at_s = 0, high = 0;  // time of its last sample; its highest
  };
  void put(double at_s, double mib);
  double noise() const;

  double width_ = 0.25;
  std::vector<Bin> bins_;  // by time, one per interval that has a sample
  std::array<double, 2> recent_{}, recent_at_{};
  double last_at_ = -1, seen_ = 0;
  int samples_ = 0, in_a_row_ = 0;
};

}  // namespace smartmig
