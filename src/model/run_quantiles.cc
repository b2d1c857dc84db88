#include "model/run_quantiles.h"

#include <algorithm>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kFarOut = 3.5;  // standard deviations: a longer run refutes the distribution

double share_of(int i) { return (2 * i + 1) / (2.0 * kRunQuantiles); }

std::array<double, kRunQuantiles> scores_of_whole_runs() {
  std::array<double, kRunQuantiles> z{};
  for (int i = 0; i < kRunQuantiles; ++i) z[std::size_t(i)] = normal_quantile(share_of(i));
  return z;
}

// A run of unknown length that has lasted `done`.
class CutRun {
 public:
  CutRun(double spread, double done) : spread_(spread), done_(done) {
    const double score = done > 0 ? deterministic_log(done) / spread : -kFarOut;
    beyond_ = score >= kFarOut;
    if (score > -kFarOut && !beyond_) below_ = normal_share_below(score);
  }
  bool whole() const { return !beyond_ && below_ == 0; }
  double left_at_score(double z) const { return std::max(0.0, deterministic_exp(spread_ * z) - done_); }
  double left_at(double share) const {
    if (beyond_) return -deterministic_log(1 - share) * done_ / 2;
    return left_at_score(normal_quantile(below_ + (1 - below_) * share));
  }

 private:
  double spread_, done_, below_ = 0;  // below_: the share of lengths that it has exceeded
  bool beyond_ = false;               // it has exceeded every likely length
};

}  // namespace

RunQuantiles left_of_run(double spread, double done) {
  static const std::array<double, kRunQuantiles> whole = scores_of_whole_runs();
  const CutRun run(spread, done);
  RunQuantiles out;
  double sum = 0;
  for (int i = 0; i < kRunQuantiles; ++i) {
    double& left = out.of_mean[std::size_t(i)];
    left = run.whole() ? run.left_at_score(whole[std::size_t(i)]) : run.left_at(share_of(i));
    sum += left;
  }
  out.mean = sum / kRunQuantiles;
  for (double& left : out.of_mean) left = out.mean > 0 ? left / out.mean : 1;
  return out;
}

double left_of_run_at(double spread, double done, double share) { return CutRun(spread, done).left_at(share); }

}  // namespace smartmig
