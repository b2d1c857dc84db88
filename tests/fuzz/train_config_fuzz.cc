// Training configs of others: never a crash; what is accepted is written back and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "fuzz/target.h"
#include "research/learn/train_config.h"

SMARTMIG_FUZZ_TARGET(train_config) {
  using namespace smartmig;
  const auto config = parse_train_config("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!config) return 0;
  const auto again = parse_train_config("again", to_toml(*config, size % 2 == 0));
  SMARTMIG_CHECK(bool(again), "{}", again.error().what);
  SMARTMIG_CHECK(*again == *config, "a config changes when it is read back");
  return 0;
}
