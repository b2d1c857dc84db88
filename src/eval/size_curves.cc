#include "eval/size_curves.h"

#include <algorithm>

#include "base/math.h"
#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

// The belief about launch before anything has run. Jobs of minutes have little; an inference of seconds is mostly
// launch (bench/results: 4 to 13 s of 17 to 45 s on an H200).
constexpr std::pair<double, double> kLaunch[] = {{0, 0.35}, {0.15, 0.25}, {0.35, 0.2}, {0.6, 0.12}, {0.85, 0.08}};
constexpr double kPowers[] = {0, 0.25, 0.5, 0.75, 1};
constexpr double kOfPowers = 0.1;  // total weight of the power curves
constexpr double kSiteHalf = 20;   // number of own curves that weigh as much as all shipped ones
constexpr double kToldKind = 0.8;

double log_share_of(std::size_t i) {
  static const std::array<double, kCurveSizes> table = [] {
    std::array<double, kCurveSizes> t{};
    for (std::size_t k = 0; k < kCurveSizes; ++k) t[k] = deterministic_log(double(k + 1) / double(kCurveSizes));
    return t;
  }();
  return table[i];
}

// The line through two points, at x.
double on_line(double x0, double y0, double x1, double y1, double x) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

}  // namespace

double SizeCurve::at(double log_share) const {
  std::size_t i = 0;
  while (i + 2 < kCurveSizes && log_share > log_share_of(i + 1)) ++i;
  return on_line(log_share_of(i), log_time[i], log_share_of(i + 1), log_time[i + 1], log_share);
}

SizeCurve power_curve(double exponent) {
  SizeCurve curve;
  for (std::size_t i = 0; i < kCurveSizes; ++i) curve.log_time[i] = -exponent * log_share_of(i);
  return curve;
}

SizeCurve curve_of_kind(const SpeedTable& table, std::string_view kind, std::string_view gpu) {
  int whole = int(kCurveSizes);
  if (const auto model = Catalog::builtin().find(gpu)) whole = (*model)->compute_slices();
  struct Point {
    double log_share, log_time;
  };
  std::vector<Point> points;
  for (const SpeedTable::Row& row : table.rows()) {
    if (row.kind != kind || row.gpu != gpu) continue;
    const auto slices = parse_int(std::string_view(row.profile).substr(0, row.profile.find('g')));
    SMARTMIG_CHECK(slices && *slices >= 1, "profile {} of the speed table has no size", row.profile);
    const double share = deterministic_log(double(*slices) / whole);
    const auto same = [&](const Point& p) { return p.log_share == share; };
    if (std::none_of(points.begin(), points.end(), same)) points.push_back({share, -deterministic_log(row.throughput)});
  }
  SMARTMIG_CHECK(!points.empty(), "no speeds of {} on {}", kind, gpu);
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.log_share < b.log_share; });
  SizeCurve curve;
  if (points.size() == 1) return curve;
  for (std::size_t i = 0; i < kCurveSizes; ++i) {
    std::size_t p = 0;
    while (p + 2 < points.size() && log_share_of(i) > points[p + 1].log_share) ++p;
    curve.log_time[i] = on_line(points[p].log_share, points[p].log_time, points[p + 1].log_share,
                                points[p + 1].log_time, log_share_of(i));
  }
  const double whole_time = curve.log_time.back();
  for (double& x : curve.log_time) x -= whole_time;
  return curve;
}

SizeCurve with_launch(const SizeCurve& curve, double share) {
  SizeCurve out;
  for (std::size_t i = 0; i < kCurveSizes; ++i)
    out.log_time[i] = deterministic_log(share + (1 - share) * deterministic_exp(curve.log_time[i]));
  return out;
}

CurveSet CurveSet::of_table(const SpeedTable& table, const std::function<bool(std::string_view)>& without) {
  struct KindShape {
    SizeCurve curve;
    std::string_view kind;
  };
  std::vector<KindShape> kinds;
  for (std::size_t i = 0; i < table.rows().size(); ++i) {
    const SpeedTable::Row& row = table.rows()[i];
    const auto before = [&](const SpeedTable::Row& other) { return other.kind == row.kind && other.gpu == row.gpu; };
    if (std::any_of(table.rows().begin(), table.rows().begin() + std::ptrdiff_t(i), before)) continue;
    if (!without || !without(row.kind)) kinds.push_back({curve_of_kind(table, row.kind, row.gpu), row.kind});
  }
  CurveSet set;
  const auto add = [&](const KindShape& shape, double weight) {
    for (const auto& [launch, of_it] : kLaunch)
      set.curves_.push_back({with_launch(shape.curve, launch), deterministic_log(weight * of_it), launch, shape.kind});
  };
  const double of_powers = kinds.empty() ? 1 : kOfPowers;
  for (const KindShape& shape : kinds) add(shape, (1 - of_powers) / double(kinds.size()));
  for (const double power : kPowers) add({power_curve(power), {}}, of_powers / double(std::size(kPowers)));
  return set;
}

const CurveSet& CurveSet::builtin() {
  static const CurveSet set = of_table(SpeedTable::builtin());
  return set;
}

CurveSet CurveSet::with_site(std::span<const WeightedCurve> own) const {
  if (own.empty()) return *this;
  CurveSet out = *this;
  const double n = double(own.size()), of_own = n / (n + kSiteHalf);
  for (WeightedCurve& one : out.curves_) one.log_weight += deterministic_log(1 - of_own);
  for (const WeightedCurve& one : own)
    out.curves_.push_back({one.curve, deterministic_log(of_own / n), one.launch, one.kind});
  return out;
}

CurveSet CurveSet::leaning_to(std::string_view kind) const {
  double of_kind = 0;
  if (kind.empty()) return *this;
  for (const WeightedCurve& one : curves_)
    if (one.kind == kind) of_kind += deterministic_exp(one.log_weight);
  if (of_kind <= 0 || of_kind >= kToldKind) return *this;
  CurveSet out = *this;
  for (WeightedCurve& one : out.curves_)
    one.log_weight +=
        one.kind == kind ? deterministic_log(kToldKind / of_kind) : deterministic_log((1 - kToldKind) / (1 - of_kind));
  return out;
}

}  // namespace smartmig
