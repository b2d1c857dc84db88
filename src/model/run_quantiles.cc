#include "model/run_quantiles.h"

#include <algorithm>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kFarOut = 3.5;  // standard deviations: who runs on beyond is none of these lengths

double share_of(int i) { return (2 * i + 1) / (2.0 * kRunQuantiles); }

std::array<double, kRunQuantiles> scores_of_whole_runs() {
  std::array<double, kRunQuantiles> z{};
  for (int i = 0; i < kRunQuantiles; ++i) z[std::size_t(i)] = normal_quantile(share_of(i));
  return z;
}

}  // namespace

RunQuantiles left_of_run(double spread, double done) {
  static const std::array<double, kRunQuantiles> whole = scores_of_whole_runs();
  RunQuantiles out;
  const double score = done > 0 ? deterministic_log(done) / spread : -kFarOut;
  const double below = score > -kFarOut && score < kFarOut ? normal_share_below(score) : 0;
  double sum = 0;
  for (int i = 0; i < kRunQuantiles; ++i) {
    double& left = out.of_mean[std::size_t(i)];
    if (score >= kFarOut) {
      left = -deterministic_log(1 - share_of(i)) * done / 2;
    } else {
      const double z = below > 0 ? normal_quantile(below + (1 - below) * share_of(i)) : whole[std::size_t(i)];
      left = std::max(0.0, deterministic_exp(spread * z) - done);
    }
    sum += left;
  }
  out.mean = sum / kRunQuantiles;
  for (double& left : out.of_mean) left = out.mean > 0 ? left / out.mean : 1;
  return out;
}

}  // namespace smartmig
