// The job CSV reader: never crashes, and what it accepts is written and read back the same.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/job_csv.h"

SMARTMIG_FUZZ_TARGET(job_csv) {
  using namespace smartmig;
  const auto workload = read_job_csv(LineReader::over("fuzz", {reinterpret_cast<const char*>(data), size}));
  if (!workload) return 0;
  const auto csv = to_job_csv(*workload);
  SMARTMIG_CHECK(bool(csv), "{}", csv.error().what);
  const auto again = read_job_csv(LineReader::over("again", *csv));
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(hash_of(*workload) == hash_of(*again), "another workload came back");
  return 0;
}
