// Job specs of others: never a crash; what is accepted is written and read again as the same.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fuzz/target.h"
#include "live/jobs/job_spec.h"

SMARTMIG_FUZZ_TARGET(job_spec) {
  using namespace smartmig;
  const auto spec = parse_job_spec({reinterpret_cast<const char*>(data), size}, from_unix_us(1'000'000));
  if (!spec) return 0;
  const std::string text = to_json(*spec);
  const auto again = parse_job_spec(text, from_unix_us(2'000'000));
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(to_json(*again) == text, "a job changes when it is read back");
  return 0;
}
