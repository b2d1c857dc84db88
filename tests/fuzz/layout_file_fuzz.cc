// Any bytes as a layouts file: a partition or an error, never a crash; what is read writes back to the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fuzz/target.h"
#include "policy/layouts/layout_file.h"

SMARTMIG_FUZZ_TARGET(layout_file) {
  using namespace smartmig;
  const auto file = parse_layout_file("input", {reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  const std::string text = to_json(*file);
  const auto again = parse_layout_file("written", text);
  SMARTMIG_CHECK(again && to_json(*again) == text, "a layouts file does not read back as it was written");
  return 0;
}
