#include "live/gpu/model_check.h"

#include <algorithm>
#include <cstdlib>

namespace smartmig {
namespace {

constexpr int kMemoryToleranceMib = 3072;  // drivers differ by up to about 2 GiB for the same profile

}  // namespace

Result<ModelCheck> check_model(std::shared_ptr<const GpuModel> catalogue, const std::vector<SeenProfile>& seen) {
  ModelCheck check{catalogue, {}};
  GpuModelSpec spec = catalogue->spec();
  bool filled = false;
  for (Profile& p : spec.profiles) {
    const auto at = std::find_if(seen.begin(), seen.end(), [&](const SeenProfile& s) {
      return p.nvml_enum >= 0 ? s.nvml_enum == p.nvml_enum : s.nvml_id == p.nvml_id;
    });
    const auto disagree = [&](std::string_view what, auto listed, auto found) {
      return invalid(
          "profile {} of {}: the catalogue has {} {}, but NVML {}; this board has a different "
          "geometry",
          p.name, spec.name, what, listed, found);
    };
    if (at == seen.end())
      return invalid("profile {} of {} is in the catalogue, but NVML does not offer it; use a newer driver", p.name,
                     spec.name);
    if (p.nvml_id >= 0 && at->nvml_id != p.nvml_id) return disagree("NVML id", p.nvml_id, at->nvml_id);
    if (at->compute_slices != p.compute_slices) return disagree("compute slices", p.compute_slices, at->compute_slices);
    if (at->placements_known) {
      if (at->length != p.memory_slices) return disagree("memory slices", p.memory_slices, at->length);
      if (at->starts != p.starts)
        return disagree("starts", fmt::format("{}", fmt::join(p.starts, " ")),
                        fmt::format("{}", fmt::join(at->starts, " ")));
    } else {
      check.notes.push_back(fmt::format("the starts of {} could not be checked without permission", p.name));
    }
    if (p.sms > 0 && at->sms != p.sms)
      check.notes.push_back(fmt::format("{} has {} SMs, the catalogue lists {}", p.name, at->sms, p.sms));
    if (p.memory_mib > 0 && std::abs(at->memory_mib - p.memory_mib) > kMemoryToleranceMib)
      check.notes.push_back(
          fmt::format("{} has {} MiB, the catalogue lists {} MiB", p.name, at->memory_mib, p.memory_mib));
    filled = filled || p.nvml_id < 0 || p.sms == 0 || p.memory_mib == 0;
    if (p.nvml_id < 0) p.nvml_id = at->nvml_id;
    if (p.sms == 0) p.sms = at->sms;
    if (p.memory_mib == 0) p.memory_mib = at->memory_mib;
  }
  for (const SeenProfile& s : seen)
    if (std::none_of(spec.profiles.begin(), spec.profiles.end(),
                     [&](const Profile& p) { return p.nvml_id == s.nvml_id; }))
      check.notes.push_back(fmt::format("NVML profile {} is not in the catalogue and is not used", s.nvml_id));
  if (filled) {
    SMARTMIG_TRY(GpuModel model, GpuModel::make(std::move(spec)));
    check.model = std::make_shared<const GpuModel>(std::move(model));
  }
  return check;
}

}  // namespace smartmig
