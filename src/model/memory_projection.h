// The peak memory a running job will reach, projected from samples (seconds since its start, MiB) of its slice, with an
// uncertainty; and whether to restart it on a larger slice now. Pure: no clock, no device; one object per attempt.
//
// Samples. A median of three removes single spikes; what is left is kept as highs of at most kBins equal intervals of
// time, which double in width when they run out: memory is O(1), an update O(1), a forecast O(kBins). The curve
// projected is E(t), the highest so far: resets of a cache and freed buffers do not make it fall.
//
// Shapes. Candidates: flat, and for the whole, the last half and the last quarter of the time so far a straight line, a
// square root, and three to six saturating exponentials, each least-squares fitted and hung on E(now). No shape is
// believed for how well it fits: it is refitted as of 1/2, 3/4 and 7/8 of the time so far and asked to predict now. Its
// miss there, in MiB per second of horizon and with the noise over the time so far, is u; its weight is proportional to
// prior / u^3, and its standard deviation at horizon h is u h.
//
// How long growth goes on. Growth that has lasted g seconds lasts a further X with P(X > x) = (g / (g + x))^alpha, so
// that a warm-up of seconds is not taken for a leak of hours. The job's end T is uncertain too: around the expected end
// by a factor of e^(0.35 z), or, where none is known or it has passed, P(T > x) = now / x. The forecast is the mixture
// of shapes x five quantiles of X x five of T: at most 475 normal distributions of the peak.
//
// Verdict. R: seconds a restart costs; l: work lost if restarted now (0 after a checkpoint); f: work lost if it failed
// now. Restarting costs  R + l.  Going on costs  sum over outcomes of P(fail) (R + f + min(x, d)),  x the seconds until
// the limit is passed. d = kPatience * elapsed bounds the cost of waiting: who goes on decides again with more data,
// and is not bound to run into the failure. Restart when the first is less, the limit is passed with probability
// kSure or more, and this was found kAgain times in a row.
#pragma once
#include <array>
#include <vector>

namespace smartmig {

struct RestartCosts {
  double restart_s = 30;         // R: from stop to making progress again
  double lost_if_restarted = 0;  // l, seconds of work; 0 where the job checkpoints on a signal
  double lost_if_failed = 0;     // f, seconds of work since the last checkpoint, or since the start
};

struct Passing {
  double probability = 0;
  double after_s = 0;  // expected seconds from now until the limit is passed, if it is
};

struct RestartVerdict {
  bool restart = false;
  Passing passing;
  double cost_now_s = 0, cost_go_on_s = 0;  // expected lost seconds of either
  double needs_mib = 0;                     // where restart: p90 of the peak, what the next slice should have
};

class MemoryForecast {
 public:
  double seen_mib() const { return seen_; }  // the highest sample so far
  double quantile(double q) const;           // of the peak by the end, MiB; 0 < q < 1
  Passing passing(double limit_mib) const;
  RestartVerdict weigh(double limit_mib, const RestartCosts& costs) const;  // the rule above, once

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

  // Samples out of order, negative or not finite are ignored; gaps are no harm.
  void add(double at_s, double mib);
  int samples() const { return samples_; }
  double now_s() const { return last_at_; }

  // expected_total_s: run time from start to end on this slice; 0 or less: unknown. With fewer than kFewest samples the
  // forecast is the highest sample seen.
  MemoryForecast forecast(double expected_total_s) const;

  // To be called once per sample (or less often): counts how often in a row a restart was the better choice.
  RestartVerdict verdict(double limit_mib, double expected_total_s, const RestartCosts& costs);

  // As MIGM has it (arXiv 2508.18556), for jobs whose end is known: a least-squares line through the second half of the
  // time so far, hung on the highest so far and carried to the end. Restart as soon as it passes the limit there, kAgain
  // times in a row, whatever that costs. Without an expected end, or after it, never.
  RestartVerdict line_verdict(double limit_mib, double expected_total_s);

 private:
  struct Bin {
    double at_s = 0, high = 0;  // of its last sample; highest
  };
  void put(double at_s, double mib);
  double noise() const;

  double width_ = 0.25;
  std::vector<Bin> bins_;  // in order of time, one per interval that has a sample
  std::array<double, 2> recent_{}, recent_at_{};
  double last_at_ = -1, seen_ = 0;
  int samples_ = 0, in_a_row_ = 0;
};

}  // namespace smartmig
