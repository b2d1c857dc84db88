// Any bytes as planner weights: weights or an error, never a crash; what is read writes back to the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fuzz/target.h"
#include "policy/placing/job_value.h"

SMARTMIG_FUZZ_TARGET(weight_file) {
  using namespace smartmig;
  const auto file = parse_weight_file("input", {reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  const std::string text = to_json(*file);
  const auto again = parse_weight_file("written", text);
  SMARTMIG_CHECK(again && to_json(*again) == text, "planner weights do not read back as they were written");
  return 0;
}
