// The trace reader: never crashes, and what it accepts is valid.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/trace_csv.h"

SMARTMIG_FUZZ_TARGET(trace_csv) {
  using namespace smartmig;
  LoadOptions options;
  options.tokens_per_s = 100;
  const auto workload = read_trace_csv(LineReader::over("fuzz", {reinterpret_cast<const char*>(data), size}), options);
  SMARTMIG_CHECK(!workload || validate(*workload), "an invalid workload was accepted");
  return 0;
}
