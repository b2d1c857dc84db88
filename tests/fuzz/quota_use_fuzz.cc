// The kept use of quotas: never crashes, and what is accepted is written and read again alike.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "queue/jobs/quotas.h"

SMARTMIG_FUZZ_TARGET(quota_use) {
  using namespace smartmig;
  const Settings settings;
  Quotas quotas(settings, 7);
  if (!quotas.load(std::string(reinterpret_cast<const char*>(data), size))) return 0;
  const std::string text = quotas.text();
  Quotas again(settings, 7);
  const auto loaded = again.load(text);
  SMARTMIG_CHECK(bool(loaded), "{}", loaded.error().what);
  SMARTMIG_CHECK(again.text() == text, "written differently");
  return 0;
}
