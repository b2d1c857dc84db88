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
#include "mig/shape.h"
#include "model/platform.h"

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

// Applies a searched partition to a fleet that may differ from the one it was searched on, and may be mixed. Each GPU
// model takes its shapes from the file in order, repeatedly. A model that the file lacks takes the translated shapes of
// a model in the file (mig/shape_translation.h), preferably one with as many compute slices.
// One shape per GPU. `shapes` are file.day or file.night. If the file does not name its fleet, the shapes go over the
// GPUs in order.
Result<std::vector<Shape>> shapes_for_fleet(const LayoutFile& file, const std::vector<std::string>& shapes,
                                            const Platform& platform);

// Distributes a list of shapes of one model over the whole fleet, GPU after GPU and repeatedly, translated for GPUs of
// another model.
Result<std::vector<Shape>> translated_over_fleet(std::string_view model, const std::vector<std::string>& shapes,
                                                 const Platform& platform);

}  // namespace smartmig
