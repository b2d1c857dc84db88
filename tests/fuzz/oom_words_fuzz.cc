// The end of a job's log: whatever a job writes, the size read from it is none or one that a device could have.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fuzz/target.h"
#include "live/jobs/oom_words.h"

SMARTMIG_FUZZ_TARGET(oom_words) {
  const int mib = smartmig::refused_request_mib({reinterpret_cast<const char*>(data), size});
  SMARTMIG_CHECK(mib >= 0 && mib <= 1 << 26, "{} MiB", mib);
  return 0;
}
