// How run times shrink as slices grow: a set of curves with weights, the belief about a command that nobody has seen on
// two sizes yet. A curve is the logarithm of the time on a share of the GPU over the time on the whole, at the shares
// 1/7 ... 7/7, straight between them in the logarithm of the share; so curves of one GPU model serve another.
//
// Shipped: every kind of the speed table on every GPU it was measured on, and powers of the size, each with several
// shares of launch: the part of a run (imports, loading) that no size makes shorter. A site's own commands are added as
// they are learned. Immutable once made; any thread.
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
  double at(double log_share) const;           // share > 0; beyond the ends as between the last two
};

SizeCurve power_curve(double exponent);  // time ~ size ^ -exponent
// The kind's times on a GPU model, without launch. Sizes that were not measured lie on the lines between.
// REQUIRES: the table has the kind on that GPU.
SizeCurve curve_of_kind(const SpeedTable& table, std::string_view kind, std::string_view gpu);
// The same with `share` of the time on the whole GPU being launch.
SizeCurve with_launch(const SizeCurve& curve, double share);

struct WeightedCurve {
  SizeCurve curve;
  double log_weight = 0;  // all weights of a set sum to 1
  double launch = 0;      // of the time on the whole GPU
  std::string_view kind;  // of the table; empty: of none
};

class CurveSet {
 public:
  // Kinds for which `without` returns true are left out (to be tested with).
  static CurveSet of_table(const SpeedTable& table, const std::function<bool(std::string_view)>& without = {});
  static const CurveSet& builtin();

  // With a site's own curves, all alike in weight: n of them have n / (n + 20) of it.
  CurveSet with_site(std::span<const WeightedCurve> own) const;
  // For a command whose owner named its kind: curves of that kind have 4/5 of the weight. Unknown kinds: as it was.
  CurveSet leaning_to(std::string_view kind) const;

  const std::vector<WeightedCurve>& curves() const { return curves_; }

 private:
  std::vector<WeightedCurve> curves_;
};

}  // namespace smartmig
