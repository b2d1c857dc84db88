// Memory of a job over time, made from a seed: families of shapes as training and inference jobs show them, for the
// study of memory projection (memory_study.h). Half of the families are held out: they did not influence any constant
// of memory/memory_projection.h. Recorded curves of real jobs are in research/data/memory_curves.csv. Pure functions of
// family and seed.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct MemoryCurve {
  std::string family;
  double duration_s = 0;
  std::vector<double> mib;  // at kFinePoints equal steps over the run: what the device really holds
  double interval_s() const { return duration_s / double(mib.size()); }
  double at(std::size_t i) const { return interval_s() * double(i + 1); }
};
inline constexpr std::size_t kFinePoints = 1600;

struct CurveFamily {
  const char* name;
  const char* words;
  enum Group : std::uint8_t { kTuning, kHeldOut, kRecorded } group;
};
std::span<const CurveFamily> curve_families();  // the synthetic ones

// A shape with maximum 1, times `peak_mib`.
MemoryCurve make_curve(std::string_view family, std::uint64_t seed, double duration_s, double peak_mib);

// A table "job,at_s,mib" whose rows are grouped by job and ordered by time.
Result<std::vector<MemoryCurve>> parse_recorded_curves(std::string_view name, std::string_view text);
// The recorded shape, stretched to this duration and peak.
MemoryCurve stretched(const MemoryCurve& recorded, double duration_s, double peak_mib);

}  // namespace smartmig
