// The changing half of NvmlDriver: opening, creating, destroying, mode.
#include "live/gpu/nvml_driver.h"

#include <algorithm>

#include "live/durable_file.h"
#include "live/gpu/holders.h"

namespace smartmig {
namespace {

constexpr int kReadBacks = 4;  // a read right after a change may lag

}  // namespace

Result<std::unique_ptr<NvmlDriver>> NvmlDriver::open(Options options) {
  std::unique_ptr<NvmlDriver> driver(new NvmlDriver(std::move(options)));
  SMARTMIG_TRY(driver->nvml_,
               NvmlApi::open(driver->options_.library.empty() ? default_nvml_library() : driver->options_.library));
  SMARTMIG_RETURN_IF_ERROR(driver->find_gpus());
  const std::string& state = driver->options_.state_dir;
  SMARTMIG_TRY(driver->ledger_, Ledger::open(state.empty() ? "" : state + "/ledger.json"));
  if (driver->options_.control) SMARTMIG_RETURN_IF_ERROR(driver->take_control());
  for (Gpu& gpu : driver->gpus_) driver->watch(gpu);
  return driver;
}

Result<Ok> NvmlDriver::lock(Gpu& gpu) {
  SMARTMIG_TRY(gpu.lock, ControllerLock::take(options_.lock_dir.empty() ? default_lock_directory() : options_.lock_dir,
                                              {gpu.fixed.uuid}));
  gpu.locked = true;
  return Ok{};
}

Result<Ok> NvmlDriver::take_control() {
  for (Gpu& gpu : gpus_)
    if (!gpu.fixed.uuid.empty() && wanted(gpu)) SMARTMIG_RETURN_IF_ERROR(lock(gpu));
  if (!options_.state_dir.empty()) SMARTMIG_RETURN_IF_ERROR(make_directories(options_.state_dir));
  std::set<std::string> living;
  bool all_seen = options_.only.empty();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!wanted(gpus_[i])) continue;
    if (auto done = tidy(GpuId(i)); !done) tidied_.push_back(done.error().what);
    const auto board = read(GpuId(i));
    all_seen = all_seen && board;
    if (board)
      for (const Instance& instance : board->instances) living.insert(instance.uuid);
  }
  return all_seen ? ledger_.retain_only(living) : Result<Ok>(Ok{});
}

Result<Ok> NvmlDriver::set_control(GpuId id, bool on) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  if (!options_.control || gpu->locked == on) return Ok{};
  if (on) {
    SMARTMIG_RETURN_IF_ERROR(lock(*gpu));
    return ledger_.reload();
  }
  gpu->locked = false;
  gpu->lock = ControllerLock();
  return Ok{};
}

// Adopts where that was asked for, turns promises into UUIDs, removes our GPU instances that have no compute instance.
Result<Ok> NvmlDriver::tidy(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  SMARTMIG_TRY(const GpuBoard board, read(id));
  if (!board.model) return Ok{};
  for (const Instance& instance : board.instances) {
    if (instance.placement == kNoPlacement) continue;
    const std::string slice = slice_name(*board.model, instance.placement);
    if (!instance.ours && !options_.adopt) continue;
    if (instance.compute_instance >= 0) {
      SMARTMIG_RETURN_IF_ERROR(ledger_.keep(board.uuid, slice, instance.uuid));
      continue;
    }
    SMARTMIG_RETURN_IF_ERROR(destroy(id, instance));
    tidied_.push_back(fmt::format("{}: removed {}, which had no compute instance", title(board), slice));
  }
  const auto promises = ledger_.promises();
  for (const auto& [uuid, slice] : promises)
    if (uuid == gpu->fixed.uuid) SMARTMIG_RETURN_IF_ERROR(ledger_.drop_promise(uuid, slice));
  return Ok{};
}

Result<Ok> NvmlDriver::require_control(const Gpu& gpu) const {
  if (!options_.control) return no_permission("{}: the driver was opened for reading only", title(gpu.fixed));
  if (!gpu.fixed.trouble.empty()) return invalid("{}: {}", title(gpu.fixed), gpu.fixed.trouble);
  if (!gpu.fixed.model) return unsupported("{} has no MIG", title(gpu.fixed));
  if (!gpu.locked)
    return no_permission("{} is left to another controller; smartmig undrain {} takes it back", title(gpu.fixed),
                         gpu.fixed.index);
  return Ok{};
}

Result<Ok> NvmlDriver::patiently(Gpu& gpu, const std::string& what, int gi, int ci,
                                 const std::function<nvmlReturn_t()>& call) {
  Time waited{}, next = options_.first_pause;
  for (;;) {
    const nvmlReturn_t code = call();
    if (code == NVML_SUCCESS) return Ok{};
    if (code != NVML_ERROR_IN_USE) return nvml_->error(code, what);
    if (waited >= options_.patience) break;
    pause(next);
    waited += next;
    next = std::min(next * 2, options_.longest_pause);
  }
  std::vector<std::string> holders;
  if (const auto running = processes(GpuId(gpu.fixed.index)))
    for (const DeviceProcess& p : *running)
      if (p.gpu_instance == gi || gi < 0)
        holders.push_back(fmt::format("pid {} ({})", p.pid, p.name.empty() ? "?" : p.name));
  const auto open = find_holders({options_.proc_root, gpu.minor, gi, ci});
  if (!open.empty()) holders.push_back(describe(open));
  return busy_error("{}: still in use after {:.1f} s; {}", what, seconds(waited),
                    holders.empty()
                        ? "no process shows as its user; check monitors (DCGM, exporters) and restart them"
                        : fmt::format("{} uses it; stop that process and try again", fmt::join(holders, ", ")));
}

Result<Ok> NvmlDriver::make_compute_instance(Gpu& gpu, nvmlGpuInstance_t gi, PlacementId where) {
  const Profile& profile = gpu.fixed.model->profile_of(where);
  const std::string what =
      fmt::format("{}: creating the compute instance of {}", title(gpu.fixed), slice_name(*gpu.fixed.model, where));
  SMARTMIG_TRY(const auto parts, place_parts(gpu, gi, profile, {profile.compute_slices}, what));
  return make_parts(gpu, gi, parts, what);
}

Result<Instance> NvmlDriver::create(GpuId id, PlacementId where) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  SMARTMIG_RETURN_IF_ERROR(require_control(*gpu));
  const GpuModel& model = *gpu->fixed.model;
  if (index(where) >= model.placements().size())
    return invalid("{} has no placement {}", title(gpu->fixed), index(where));
  SMARTMIG_TRY(const GpuBoard before, read(id));
  const std::string slice = slice_name(model, where);
  if (before.mode != MigMode::kOn) return unsupported("{}: MIG mode is off; switch it on first", title(before));
  if (!before.trouble.empty()) return invalid("{}: {}", title(before), before.trouble);
  const Placement& place = model.placement(where);
  for (const Instance& i : before.instances)
    if (model.placement(i.placement).mask & place.mask)
      return invalid("{}: there is no room for {}, because {} exists{}", title(before), slice,
                     slice_name(model, i.placement), i.compute_instance < 0 ? " without a compute instance" : "");
  if (!model.fits(before.layout, where))
    return invalid("{}: {} does not fit with the existing instances", title(before), slice);

  SMARTMIG_RETURN_IF_ERROR(ledger_.promise(gpu->fixed.uuid, slice));
  const nvmlGpuInstancePlacement_t at{place.start, unsigned(model.profile_of(where).memory_slices)};
  nvmlGpuInstance_t gi = nullptr;
  const unsigned int profile_id = unsigned(model.profile_of(where).nvml_id);
  if (auto made =
          patiently(*gpu, fmt::format("{}: creating {}", title(before), slice), -1, -1,
                    [&] { return nvml_->nvmlDeviceCreateGpuInstanceWithPlacement(gpu->handle, profile_id, &at, &gi); });
      !made) {
    SMARTMIG_RETURN_IF_ERROR(ledger_.drop_promise(gpu->fixed.uuid, slice));
    return made.error();
  }
  if (auto made = make_compute_instance(*gpu, gi, where); !made) {
    if (auto removed = remove(*gpu, gi, int(profile_id), -1, fmt::format("{}: removing {}", title(before), slice));
        !removed)
      return lost_error("{}; and its GPU instance is left over: {}", made.error().what, removed.error().what);
    SMARTMIG_RETURN_IF_ERROR(ledger_.drop_promise(gpu->fixed.uuid, slice));
    return Error{made.error().code, made.error().what + "; its GPU instance is removed again"};
  }
  std::string seen = "nothing there";
  for (int tries = 0; tries < kReadBacks; ++tries) {
    if (tries > 0) pause(options_.first_pause);
    const auto board = read(id);
    if (!board) {
      seen = board.error().what;
      if (board.error().code == Error::kLost) break;
      continue;
    }
    const Instance* found = find_instance(*board, where);
    if (!found || found->compute_instance < 0) continue;
    SMARTMIG_RETURN_IF_ERROR(ledger_.keep(gpu->fixed.uuid, slice, found->uuid));
    Instance instance = *found;
    instance.ours = true;
    return instance;
  }
  return lost_error("{}: {} was created, but reading back shows {}", title(before), slice, seen);
}

Result<Ok> NvmlDriver::remove(Gpu& gpu, nvmlGpuInstance_t gi, int profile_id, int gi_id, const std::string& what) {
  SMARTMIG_RETURN_IF_ERROR(remove_parts(gpu, gi, profile_id, gi_id, what));
  return patiently(gpu, what, gi_id, -1, [&] { return nvml_->nvmlGpuInstanceDestroy(gi); });
}

Result<Ok> NvmlDriver::destroy(GpuId id, const Instance& instance) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  SMARTMIG_RETURN_IF_ERROR(require_control(*gpu));
  SMARTMIG_TRY(const GpuBoard board, read(id));
  const auto at = std::find_if(board.instances.begin(), board.instances.end(), [&](const Instance& i) {
    return i.gpu_instance == instance.gpu_instance && i.uuid == instance.uuid;
  });
  if (at == board.instances.end())
    return not_found("{}: GPU instance {} {} is not there", title(board), instance.gpu_instance, instance.uuid);
  if (at->placement == kNoPlacement)
    return invalid("{}: GPU instance {} has a placement that is not in the catalogue", title(board), at->gpu_instance);
  const std::string slice = slice_name(*board.model, at->placement);
  if (!at->ours && !options_.adopt)
    return no_permission("{}: {} was not created by smartmig; add --adopt to take it over", title(board), slice);
  nvmlGpuInstance_t gi = nullptr;
  if (const auto code = nvml_->nvmlDeviceGetGpuInstanceById(gpu->handle, unsigned(at->gpu_instance), &gi);
      code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: finding GPU instance {}", title(board), at->gpu_instance));
  SMARTMIG_RETURN_IF_ERROR(ledger_.promise(board.uuid, slice));  // between the two halves only the place is known
  SMARTMIG_RETURN_IF_ERROR(remove(*gpu, gi, board.model->profile_of(at->placement).nvml_id, at->gpu_instance,
                                  fmt::format("{}: destroying {}", title(board), slice)));
  std::string seen = "still shows it";
  for (int tries = 0; tries < kReadBacks; ++tries) {
    if (tries > 0) pause(options_.first_pause);
    const auto after = read(id);
    if (!after) {
      seen = "failed: " + after.error().what;
      if (after.error().code == Error::kLost) break;
      continue;
    }
    if (std::none_of(after->instances.begin(), after->instances.end(),
                     [&](const Instance& i) { return i.gpu_instance == at->gpu_instance; }))
      return ledger_.forget(board.uuid, slice, at->uuid);
  }
  return lost_error("{}: {} was destroyed, but reading back {}", title(board), slice, seen);
}

Result<Ok> NvmlDriver::set_mig_mode(GpuId id, bool on) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  SMARTMIG_TRY(const GpuBoard board, read(id));
  const MigMode wanted = on ? MigMode::kOn : MigMode::kOff;
  if (board.mode == wanted && board.pending == wanted) return Ok{};
  if (board.mode == MigMode::kUnsupported) return unsupported("{} has no MIG", title(board));
  if (!options_.control || !gpu->locked || !options_.allow_mode_change)
    return no_permission("{}: MIG mode is {}; --allow-mode-change lets smartmig change it", title(board),
                         board.mode == MigMode::kOn ? "on" : "off");
  if (!board.instances.empty()) return busy_error("{}: the mode cannot change while instances exist", title(board));
  nvmlReturn_t activation = NVML_SUCCESS;
  const std::string what = fmt::format("{}: switching MIG mode {}", title(board), on ? "on" : "off");
  SMARTMIG_RETURN_IF_ERROR(patiently(*gpu, what, -1, -1, [&] {
    const auto code = nvml_->nvmlDeviceSetMigMode(gpu->handle, on ? 1 : 0, &activation);
    return code == NVML_SUCCESS && activation == NVML_ERROR_IN_USE ? NVML_ERROR_IN_USE : code;
  }));
  SMARTMIG_TRY(const GpuBoard after, read(id));
  if (after.mode != wanted)
    return lost_error("{}: it is pending and needs a reset of the GPU; smartmig does not reset GPUs", what);
  return Ok{};
}

}  // namespace smartmig
