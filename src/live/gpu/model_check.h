// Does a board have the geometry that the catalogue gives its model? What NVML says of each profile is compared with
// the catalogue row: id, compute slices, length and starts must be equal, else the board is refused with the name of
// the profile, since every layout decision would rest on a wrong table. What the catalogue leaves open (an unknown id,
// SMs, memory) is filled in from NVML; other SMs or memory than listed, and profiles that are not listed, are notes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "mig/gpu_model.h"

namespace smartmig {

// One profile as NVML tells it.
struct SeenProfile {
  int nvml_enum = -1, nvml_id = -1;
  int compute_slices = 0, sms = 0, memory_mib = 0;
  bool placements_known = true;  // false: this user may not ask
  int length = 0;                // memory slices; of all placements
  std::vector<int> starts;       // increasing
};

struct ModelCheck {
  std::shared_ptr<const GpuModel> model;
  std::vector<std::string> notes;
};

// kInvalid: names the profile and both values.
Result<ModelCheck> check_model(std::shared_ptr<const GpuModel> catalogue, const std::vector<SeenProfile>& seen);

}  // namespace smartmig
