// The sections of `smartmig geometry`, one function each. Each function adds the same facts to the text and to the
// JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig::cli {

// Layouts of a GPU as boxes on the axis of its memory slices: "[4g              ][2g      ][1g]".
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

struct GeometryOutput {
  std::string text;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
};

void list_models(GeometryOutput& out);  // every model of the catalogue
void list_profiles(const GpuModel& model, ProfileMask shown, GeometryOutput& out);
void show_layouts(const GpuModel& model, ProfileMask profiles, GeometryOutput& out);  // counts, maximal ones drawn
void show_busy(const GpuModel& model, Layout busy, GeometryOutput& out);              // what stays reachable around it
Result<Ok> show_choice(const GpuModel& model, int mem_mib, int min_slices, GeometryOutput& out);
Result<Ok> show_move(const GpuModel& model, Layout from, Layout to, Layout busy, GeometryOutput& out);

}  // namespace smartmig::cli
