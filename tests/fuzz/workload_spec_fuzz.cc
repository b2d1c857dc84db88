// Generator specs: what is accepted prints and parses back, and generates a valid workload.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "sim/workload_spec.h"

SMARTMIG_FUZZ_TARGET(workload_spec) {
  using namespace smartmig;
  const auto spec = parse_workload_spec({reinterpret_cast<const char*>(data), size});
  if (!spec) return 0;
  const auto again = parse_workload_spec(to_string(*spec));
  SMARTMIG_CHECK(again && to_string(*again) == to_string(*spec), "{} does not read back", to_string(*spec));
  if (expected_jobs(*spec) > 2000) return 0;
  const auto workload = generate(*spec);
  SMARTMIG_CHECK(bool(workload), "{}", workload.error().what);
  return 0;
}
