// The sections of `smartmig geometry`, one function each. Each function adds the same facts to the text and to the
// JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "mig/gpu_model.h"

namespace smartmig::cli {

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
