// The reader of a Slurm cluster's history: never crashes, and what it accepts is valid.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/sacct.h"

SMARTMIG_FUZZ_TARGET(sacct) {
  using namespace smartmig;
  const auto workload = read_sacct(LineReader::over("fuzz", {reinterpret_cast<const char*>(data), size}));
  SMARTMIG_CHECK(!workload || validate(*workload), "an invalid workload was accepted");
  return 0;
}
