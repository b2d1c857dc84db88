// The compute instances of NvmlDriver: one that spans a GPU instance, or several that divide it.
#include <algorithm>

#include "live/gpu/division.h"
#include "live/gpu/nvml_driver.h"

namespace smartmig {
namespace {

constexpr int kDivisionReadBacks = 4;
constexpr unsigned int kMaxComputePlacements = 16;

// Starts for parts of these sizes, none on another, each of those that its profile allows.
bool choose_starts(const std::vector<std::vector<nvmlComputeInstancePlacement_t>>& allowed, std::size_t next,
                   std::uint32_t taken, std::vector<nvmlComputeInstancePlacement_t>& chosen) {
  if (next == allowed.size()) return true;
  for (const auto& place : allowed[next]) {
    const std::uint32_t mask = ((1u << place.size) - 1) << place.start;
    if (taken & mask) continue;
    chosen[next] = place;
    if (choose_starts(allowed, next + 1, taken | mask, chosen)) return true;
  }
  return false;
}

}  // namespace

// Several profiles may have the slices that are wanted (on Hopper the double-memory 1g offers 16 and 26 SMs): the one
// with most SMs for a compute instance that spans the GPU instance, the plain one for a part of it.
Result<std::vector<NvmlDriver::PlacedPart>> NvmlDriver::place_parts(Gpu& gpu, nvmlGpuInstance_t gi,
                                                                    const Profile& profile,
                                                                    const std::vector<int>& sizes,
                                                                    const std::string& what) {
  SMARTMIG_TRY(const auto* const profiles, compute_profiles(gpu, gi, profile.nvml_id));
  std::vector<PlacedPart> parts;
  std::vector<std::vector<nvmlComputeInstancePlacement_t>> allowed;
  bool placed = sizes.size() > 1 && nvml_->nvmlGpuInstanceGetComputeInstancePossiblePlacements &&
                nvml_->nvmlGpuInstanceCreateComputeInstanceWithPlacement;
  for (int slices : sizes) {
    const bool spans = slices == profile.compute_slices;
    const ComputeProfile* best = nullptr;
    for (const ComputeProfile& p : *profiles)
      if (int(p.slices) == slices && (!best || (spans ? p.sms > best->sms : p.sms < best->sms))) best = &p;
    if (!best) return unsupported("{}: NVML offers none of {} slices", what, slices);
    parts.push_back({best->id, {}});
    if (!placed) continue;
    nvmlComputeInstancePlacement_t places[kMaxComputePlacements] = {};
    unsigned int count = kMaxComputePlacements;
    const auto code = nvml_->nvmlGpuInstanceGetComputeInstancePossiblePlacements(gi, best->id, places, &count);
    placed = code == NVML_SUCCESS;
    if (placed) allowed.emplace_back(places, places + std::min(count, kMaxComputePlacements));
  }
  if (!placed) return parts;
  std::vector<nvmlComputeInstancePlacement_t> chosen(sizes.size());
  if (!choose_starts(allowed, 0, 0, chosen))
    return invalid("{}: {} does not fit on it", what, to_string(Division(sizes)));
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].place = chosen[i];
  return parts;
}

Result<Ok> NvmlDriver::make_parts(Gpu& gpu, nvmlGpuInstance_t gi, const std::vector<PlacedPart>& parts,
                                  const std::string& what) {
  for (const PlacedPart& part : parts) {
    nvmlComputeInstance_t ci = nullptr;
    SMARTMIG_RETURN_IF_ERROR(patiently(gpu, what, -1, -1, [&] {
      return part.place ? nvml_->nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi, part.profile, &*part.place, &ci)
                        : nvml_->nvmlGpuInstanceCreateComputeInstance(gi, part.profile, &ci);
    }));
  }
  return Ok{};
}

Result<Ok> NvmlDriver::remove_parts(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id, int gi_id,
                                    const std::string& what) {
  SMARTMIG_TRY(const auto cis, compute_instances(gpu, gi, profile_id));
  for (nvmlComputeInstance_t ci : cis)
    SMARTMIG_RETURN_IF_ERROR(patiently(gpu, what, gi_id, -1, [&] { return nvml_->nvmlComputeInstanceDestroy(ci); }));
  return Ok{};
}

Result<Instance> NvmlDriver::divide(GpuId id, const Instance& instance, const std::vector<int>& slices) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  SMARTMIG_RETURN_IF_ERROR(require_control(*gpu));
  SMARTMIG_TRY(const GpuBoard board, read(id));
  const auto at = std::find_if(board.instances.begin(), board.instances.end(), [&](const Instance& i) {
    return i.gpu_instance == instance.gpu_instance && i.uuid == instance.uuid;
  });
  if (at == board.instances.end() || at->placement == kNoPlacement || at->compute_instance < 0)
    return not_found("{}: GPU instance {} {} is not there", title(board), instance.gpu_instance, instance.uuid);
  const Profile& profile = board.model->profile_of(at->placement);
  const std::string slice = slice_name(*board.model, at->placement);
  if (!at->ours && !options_.adopt)
    return no_permission("{}: {} was not created by smartmig; add --adopt to take it over", title(board), slice);
  Division wanted = slices.empty() ? Division{profile.compute_slices} : slices;
  std::sort(wanted.rbegin(), wanted.rend());
  const Division before = division_of(*board.model, *at);
  if (before == wanted) return *at;
  SMARTMIG_TRY(const auto running, processes(id));
  for (const DeviceProcess& process : running)
    if (process.gpu_instance < 0 || process.gpu_instance == at->gpu_instance)
      return busy_error("{}: {} is in use by pid {} ({}): stop it first", title(board), slice, process.pid,
                        process.name);

  const std::string what = fmt::format("{}: dividing {} into {}", title(board), slice, to_string(wanted));
  nvmlGpuInstance_t gi = nullptr;
  if (const auto code = nvml_->nvmlDeviceGetGpuInstanceById(gpu->handle, unsigned(at->gpu_instance), &gi);
      code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: finding GPU instance {}", title(board), at->gpu_instance));
  SMARTMIG_TRY(const auto parts, place_parts(*gpu, gi, profile, wanted, what));
  SMARTMIG_TRY(const auto old_parts, place_parts(*gpu, gi, profile, before, what));
  SMARTMIG_RETURN_IF_ERROR(ledger_.promise(board.uuid, slice));  // in between it may have no UUID to be known by
  const auto change = [&](const std::vector<PlacedPart>& to) -> Result<Ok> {
    SMARTMIG_RETURN_IF_ERROR(remove_parts(*gpu, gi, profile.nvml_id, at->gpu_instance, what));
    return make_parts(*gpu, gi, to, what);
  };
  const auto made = change(parts);
  if (!made)
    if (const auto back = change(old_parts); !back)
      return lost_error("{}; and {} could not be restored: {}", made.error().what, slice, back.error().what);
  std::string seen = "nothing there";
  for (int tries = 0; tries < kDivisionReadBacks; ++tries) {
    if (tries > 0) pause(options_.first_pause);
    const auto after = read(id);
    if (!after) {
      seen = after.error().what;
      if (after.error().code == Error::kLost) break;
      continue;
    }
    const Instance* found = find_instance(*after, at->placement);
    if (!found || found->compute_instance < 0) continue;
    seen = to_string(division_of(*board.model, *found));
    if (division_of(*board.model, *found) != (made ? wanted : before)) continue;
    SMARTMIG_RETURN_IF_ERROR(ledger_.keep(board.uuid, slice, found->uuid));
    SMARTMIG_RETURN_IF_ERROR(ledger_.forget(board.uuid, slice, at->uuid));
    if (!made) return Error{made.error().code, made.error().what + "; it was restored"};
    Instance done = *found;
    done.ours = true;
    return done;
  }
  return lost_error("{}: done, but reading back shows {}", what, seen);
}

}  // namespace smartmig
