// A searched partition on disk: its shapes, and the workload and seeds on which they were found. JSON, one object:
//   {"smartmig_layouts": 1, "kind": "static" | "twice", "gpus": "8xa100-40gb", "placer": "cedf",
//    "day": [shapes...], "night": [...], "day_begin": 8, "night_begin": 20,
//    "workload": "paper:20x", "seeds": [1, 2, ...], "et": 1.7, "a": 2e-7}
// compare refuses to score a policy on a seed listed here. Shapes are texts that parse_shape reads.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct LayoutFile {
  bool twice = false;
  std::string gpus, placer, workload;
  std::vector<std::string> day, night;  // night: only for twice
  int day_begin = 0, night_begin = 0;
  std::vector<std::uint64_t> seeds;
  double a = 0, et = 0;  // mean ET on those seeds
};

Result<LayoutFile> parse_layout_file(const std::string& name, std::string_view text);
std::string to_json(const LayoutFile& file);

}  // namespace smartmig
