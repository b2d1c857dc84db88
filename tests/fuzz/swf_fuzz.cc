// The SWF reader: never crashes, and what it accepts is valid.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/swf.h"

SMARTMIG_FUZZ_TARGET(swf) {
  using namespace smartmig;
  const auto workload = read_swf(LineReader::over("fuzz", {reinterpret_cast<const char*>(data), size}));
  SMARTMIG_CHECK(!workload || validate(*workload), "an invalid workload was accepted");
  return 0;
}
