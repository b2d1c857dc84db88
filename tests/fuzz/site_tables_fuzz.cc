// Rows of measured runs, speed rows and progress lines: any text is read or refused with a sentence, and what is read
// can be fitted and written back.
#include <cstddef>
#include <cstdint>

#include "eval/calibration.h"
#include "eval/profile_rows.h"
#include "eval/progress_meter.h"
#include "fuzz/target.h"
#include "model/speed.h"
#include "report/journal_runs.h"

SMARTMIG_FUZZ_TARGET(site_tables) {
  using namespace smartmig;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto runs = read_measured_runs(LineReader::over("fuzz", text)); runs && runs->size() < 64) {
    const auto fit = calibrate(*runs, "auto");
    SMARTMIG_CHECK(fit, "what was read is not fitted: {}", fit.error().what);
    const auto back = SpeedTable::parse(LineReader::over("rows", speed_rows(*fit, "fuzz")));
    SMARTMIG_CHECK(back || runs->empty(), "rows do not read back: {}", back.error().what);
  }
  static const ProgressMeter fresh = std::move(ProgressMeter::make("").value());
  ProgressMeter meter = fresh;
  meter.feed(0, text.substr(0, size / 2));
  meter.feed(1, text.substr(size / 2));
  meter.finish(2);
  if (const auto speed = meter.speed()) SMARTMIG_CHECK(speed->per_s > 0, "a speed of {}", speed->per_s);
  (void)read_journal_runs(LineReader::over("fuzz", text));
  (void)merged_rows("fuzz", text, "kind,gpu,profile,throughput,unit,mem_mib,source\n", {"kind", "gpu"});
  return 0;
}
