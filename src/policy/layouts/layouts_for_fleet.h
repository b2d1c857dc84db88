// Applies a searched partition to a fleet that may differ from the one it was searched on, and may be mixed. Each GPU
// model takes its shapes from the file in order, repeatedly. A model that the file lacks takes the translated shapes of
// a model in the file (mig/shape_translation.h), preferably one with as many compute slices.
#pragma once
#include "mig/shape.h"
#include "model/platform.h"
#include "policy/layouts/layout_file.h"

namespace smartmig {

// One shape per GPU. `shapes` are file.day or file.night. If the file does not name its fleet, the shapes go over the
// GPUs in order.
Result<std::vector<Shape>> shapes_for_fleet(const LayoutFile& file, const std::vector<std::string>& shapes,
                                            const Platform& platform);

// Distributes a list of shapes of one model over the whole fleet, GPU after GPU and repeatedly, translated for GPUs of
// another model.
Result<std::vector<Shape>> translated_over_fleet(std::string_view model, const std::vector<std::string>& shapes,
                                                 const Platform& platform);

}  // namespace smartmig
