// Recorded memory curves and the projection: any text is read or refused with a sentence; any samples give a forecast.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fuzz/target.h"
#include "memory/memory_projection.h"
#include "research/papers/memory_curves.h"

SMARTMIG_FUZZ_TARGET(memory_curves) {
  using namespace smartmig;
  if (const auto curves = parse_recorded_curves("fuzz", {reinterpret_cast<const char*>(data), size}))
    for (const MemoryCurve& curve : *curves)
      SMARTMIG_CHECK(curve.mib.size() == kFinePoints, "{} points", curve.mib.size());
  MemoryProjection projection;
  double at = 0;
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    std::uint16_t step, mib;
    std::memcpy(&step, data + i, 2);
    std::memcpy(&mib, data + i + 2, 2);
    projection.add(at += step / 16.0, mib);
  }
  for (const double expected : {0.0, at / 2, at * 3}) {
    const RestartVerdict verdict = projection.verdict(4864, expected, {30, at, at});
    SMARTMIG_CHECK(verdict.passing.probability >= 0 && verdict.passing.probability <= 1 + 1e-9, "{}",
                   verdict.passing.probability);
    SMARTMIG_CHECK(std::isfinite(verdict.cost_go_on_s) && std::isfinite(verdict.needs_mib), "not a number");
    const MemoryForecast forecast = projection.forecast(expected);
    SMARTMIG_CHECK(forecast.quantile(0.5) <= forecast.quantile(0.9), "quantiles out of order");
  }
  return 0;
}
