// Kept forecasts: never crashes, and what is accepted is written and read again alike.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "queue/learning/forecast_scores.h"

SMARTMIG_FUZZ_TARGET(forecast_scores) {
  using namespace smartmig;
  const auto kept = ForecastScores::parse("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!kept) return 0;
  const auto again = ForecastScores::parse("again", kept->to_json());
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(again->to_json() == kept->to_json(), "written differently");
  for (int kind = 0; kind < ForecastScores::kKinds; ++kind) {
    const double held = kept->figures(ForecastScores::Kind(kind)).held;
    SMARTMIG_CHECK(held >= 0 && held <= 1, "{} held", held);
  }
  return 0;
}
