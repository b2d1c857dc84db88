// A searched partition on a fleet that may not be the one it was searched on, nor of one model. Each GPU model takes the
// shapes that the file has for it, one after the other and again from the first; a model that the file does not know
// takes those of one that it knows, of as many compute slices if there is one, translated (mig/shape_translation.h).
#pragma once
#include "mig/shape.h"
#include "model/platform.h"
#include "policy/layout_file.h"

namespace smartmig {

// One shape per GPU. `shapes` are file.day or file.night; of a file that does not say for which fleet, they go over the
// GPUs one after the other.
Result<std::vector<Shape>> shapes_for_fleet(const LayoutFile& file, const std::vector<std::string>& shapes,
                                            const Platform& platform);

// A list of shapes of one model over the whole fleet, GPU after GPU and again from the first, translated where a GPU is
// of another model.
Result<std::vector<Shape>> translated_over_fleet(std::string_view model, const std::vector<std::string>& shapes,
                                                 const Platform& platform);

}  // namespace smartmig
