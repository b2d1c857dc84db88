// The Batsim reader: never crashes, and what it accepts is valid.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/batsim_json.h"

SMARTMIG_FUZZ_TARGET(batsim_json) {
  using namespace smartmig;
  const auto workload = read_batsim_json("fuzz", {reinterpret_cast<const char*>(data), size});
  SMARTMIG_CHECK(!workload || validate(*workload), "an invalid workload was accepted");
  return 0;
}
