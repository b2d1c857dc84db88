// Layouts of a GPU as boxes on the axis of its memory slices: "[4g              ][2g      ][1g]".
#pragma once
#include <string>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig::cli {

class LayoutDrawing {
 public:
  // All are drawn to one scale, wide enough for every label among them.
  LayoutDrawing(const GpuModel& model, const std::vector<Layout>& layouts);
  std::string axis() const;  // the numbers of the memory slices
  std::string operator()(Layout layout) const;

 private:
  const GpuModel& model_;
  std::size_t cell_ = 4;  // columns of a memory slice
};

}  // namespace smartmig::cli
