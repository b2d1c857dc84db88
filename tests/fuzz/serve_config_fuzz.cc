// Configurations of the daemon: never a crash; what is accepted is written back and read again as the same.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "fuzz/target.h"
#include "queue/config/settings_file.h"

SMARTMIG_FUZZ_TARGET(serve_config) {
  using namespace smartmig;
  const auto config = parse_settings("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!config) return 0;
  const auto again = parse_settings("again", to_toml(*config, size % 2 == 0));
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(*again == *config, "a configuration changes when it is read back");
  return 0;
}
