// How run times shrink as slices grow: a weighted set of curves, the belief about a command that has not run on two
// sizes yet. A curve is the logarithm of (time on a share of the GPU / time on the whole), at the shares 1/7 ... 7/7,
// linear between them in the logarithm of the share. So curves of one GPU model serve another.
//
// Shipped curves: every kind of the speed table on every GPU where it was measured, and powers of the size, each with
// several shares of launch. Launch is the part of a run (imports, loading) that no size shortens. A site's own commands
// are added as they are learned. Immutable once made; any thread.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/speed.h"

namespace smartmig {

inline constexpr std::size_t kCurveSizes = 7;

struct SizeCurve {
  std::array<double, kCurveSizes> log_time{};  // at (i + 1) / 7 of the GPU; 0 at the last
  double at(double log_share) const;           // share > 0; extrapolates from the outer two points
};

SizeCurve power_curve(double exponent);  // time ~ size ^ -exponent
// The kind's times on a GPU model, without launch. Sizes without measurement are interpolated. REQUIRES: the table has
// the kind on that GPU.
SizeCurve curve_of_kind(const SpeedTable& table, std::string_view kind, std::string_view gpu);
// The same curve, with launch as `share` of the time on the whole GPU.
SizeCurve with_launch(const SizeCurve& curve, double share);

struct WeightedCurve {
  SizeCurve curve;
  double log_weight = 0;  // the weights of a set sum to 1
  double launch = 0;      // share of the time on the whole GPU
  std::string_view kind;  // in the table; empty: none
};

class CurveSet {
 public:
  // Omits the kinds for which `without` returns true (for tests).
  static CurveSet of_table(const SpeedTable& table, const std::function<bool(std::string_view)>& without = {});
  static const CurveSet& builtin();

  // Adds a site's own curves with equal weights: n of them get n / (n + 20) of the total.
  CurveSet with_site(std::span<const WeightedCurve> own) const;
  // For a command whose owner named its kind: that kind's curves get 4/5 of the weight. An unknown kind changes
  // nothing.
  CurveSet leaning_to(std::string_view kind) const;

  const std::vector<WeightedCurve>& curves() const { return curves_; }

 private:
  std::vector<WeightedCurve> curves_;
};

}  // namespace smartmig
