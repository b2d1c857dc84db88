// Creating and destroying instances, MIG mode, reset.
#include <algorithm>

#include "driver_files.h"
#include "machine.h"
#include "machine_init.h"

namespace smartmig::nvsim {
namespace {

template <class Entry, std::size_t N>
Entry* free_entry(Entry (&entries)[N]) {
  for (Entry& entry : entries)
    if (entry.generation == 0) return &entry;
  return nullptr;
}

bool any_process(const State& state, int gpu) {
  return std::any_of(std::begin(state.processes), std::end(state.processes),
                     [&](const Process& process) { return process.owner.pid != 0 && process.gpu == gpu; });
}

// Ids of a size class are given in turn, so the same shape made again has another id where the class has several.
std::uint32_t next_id(Gpu& gpu, int size_class) {
  const std::uint32_t first = (1u << size_class) - 1, count = 1u << size_class;
  for (std::uint32_t tries = 0; tries < count; ++tries) {
    const std::uint32_t id = first + gpu.last_id[size_class]++ % count;
    if (std::none_of(std::begin(gpu.gpu_instances), std::end(gpu.gpu_instances),
                     [&](const GpuInstance& gi) { return gi.generation != 0 && gi.id == id; }))
      return id;
  }
  SMARTMIG_CHECK(false, "more than {} instances in size class {}", count, size_class);
  return 0;
}

// A GPU instance takes the first half of the time, its compute instance the rest.
Time first_half(Time whole) { return whole / 2; }
Time second_half(Time whole) { return whole - whole / 2; }

}  // namespace

Layout Machine::layout(const State& state, int gpu) const {
  const GpuModel& model = board(gpu).model();
  std::vector<PlacementId> placements;
  for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
    if (gi.generation != 0) placements.push_back(model.find_placement(gi.profile, gi.start));
  const auto layout = model.layout_of(placements);
  SMARTMIG_CHECK(layout.has_value(), "GPU {} holds instances that do not fit together", gpu);
  return *layout;
}

int Machine::free_start(const State& state, int gpu, int profile) const {
  const GpuModel& model = board(gpu).model();
  const Layout now = layout(state, gpu);
  int best = -1;
  for (const int start : board(gpu).profile(profile).starts)
    if (model.fits(now, model.find_placement(profile, start))) best = std::max(best, start);
  return best;
}

unsigned Machine::remaining(const State& state, int gpu, int profile) const {
  const GpuModel& model = board(gpu).model();
  std::vector<int> starts = board(gpu).profile(profile).starts;
  std::sort(starts.begin(), starts.end());
  Layout present = layout(state, gpu);
  unsigned count = 0;
  for (const int start : starts)  // runs of one length: taking them from one end leaves the most
    if (const auto larger = model.with(present, model.find_placement(profile, start))) {
      present = *larger;
      ++count;
    }
  return count;
}

std::vector<int> Machine::free_compute_starts(const State& state, int gpu, const GpuInstance& gi,
                                              const ComputeProfile& profile) const {
  std::vector<int> starts;
  for (const int start : profile.starts) {
    const bool taken = std::any_of(std::begin(state.gpus[gpu].compute_instances),
                                   std::end(state.gpus[gpu].compute_instances), [&](const ComputeInstance& ci) {
                                     return ci.generation != 0 && ci.gpu_instance == gi.generation &&
                                            start < ci.start + ci.slices && ci.start < start + profile.slices;
                                   });
    if (!taken) starts.push_back(start);
  }
  return starts;
}

nvmlReturn_t Machine::check_create(const State& state, int gpu, int profile,
                                   const nvmlGpuInstancePlacement_t* placement, int& start) const {
  if (!state.gpus[gpu].mig_current) return NVML_ERROR_NOT_SUPPORTED;
  const GpuModel& model = board(gpu).model();
  if (!placement) {
    start = free_start(state, gpu, profile);
    return start < 0 ? NVML_ERROR_INSUFFICIENT_RESOURCES : NVML_SUCCESS;
  }
  start = int(placement->start);
  const PlacementId id = model.find_placement(profile, start);
  if (id == kNoPlacement || int(placement->size) != board(gpu).profile(profile).memory_slices)
    return NVML_ERROR_INVALID_ARGUMENT;
  return model.fits(layout(state, gpu), id) ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t Machine::create_gpu_instance(int gpu, unsigned profile_id, const nvmlGpuInstancePlacement_t* placement,
                                          std::uint64_t& generation) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  const int profile = board(gpu).profile_by_id(profile_id);
  if (profile < 0) return NVML_ERROR_INVALID_ARGUMENT;
  int start = 0;
  return timed(
      gpu, first_half(reconfig_time(board(gpu).model(), profile).create),
      [&](const State& state) { return check_create(state, gpu, profile, placement, start); },
      [&](State& state) {
        generation = state.next_generation++;
        if (Fault* lie = find_fault(state, NVML_SIM_FAULT_CREATE_LIES, gpu)) return spend(*lie);
        GpuInstance* gi = free_entry(state.gpus[gpu].gpu_instances);
        SMARTMIG_CHECK(gi != nullptr, "GPU {} has room for an instance but no entry", gpu);
        const std::uint32_t id = next_id(state.gpus[gpu], board(gpu).size_class(profile));
        *gi = {};
        gi->generation = generation;
        crash_point();
        gi->id = id;
        gi->profile = profile;
        gi->start = start;
        send_event(state, gpu, nvmlEventMigConfigChange, 0, gi->id, NVML_NO_INSTANCE_ID);
      });
}

nvmlReturn_t Machine::destroy_gpu_instance(int gpu, std::uint64_t generation) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  Time duration{};
  read([&](const State& state) {
    if (const GpuInstance* gi = find_gpu_instance(state, gpu, generation))
      duration = first_half(reconfig_time(board(gpu).model(), gi->profile).destroy);
  });
  return timed(
      gpu, duration,
      [&](const State& state) {
        const GpuInstance* gi = find_gpu_instance(state, gpu, generation);
        if (!gi) return NVML_ERROR_INVALID_ARGUMENT;
        for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
          if (ci.generation != 0 && ci.gpu_instance == generation) return NVML_ERROR_IN_USE;
        return held(state, gpu, generation) || gi->in_use_until > store_->now() ? NVML_ERROR_IN_USE : NVML_SUCCESS;
      },
      [&](State& state) {
        if (Fault* lie = find_fault(state, NVML_SIM_FAULT_DESTROY_LIES, gpu)) return spend(*lie);
        GpuInstance* gi = mutable_in(state, find_gpu_instance(state, gpu, generation));
        send_event(state, gpu, nvmlEventMigConfigChange, 0, gi->id, NVML_NO_INSTANCE_ID);
        *gi = {};
      });
}

nvmlReturn_t Machine::create_compute_instance(int gpu, std::uint64_t gpu_instance, unsigned profile_id,
                                              const nvmlComputeInstancePlacement_t* placement,
                                              std::uint64_t& generation) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  int of = -1;
  read([&](const State& state) {
    if (const GpuInstance* gi = find_gpu_instance(state, gpu, gpu_instance)) of = gi->profile;
  });
  if (of < 0) return NVML_ERROR_INVALID_ARGUMENT;
  const auto profiles = board(gpu).compute_profiles(of);
  const auto profile = std::find_if(profiles.begin(), profiles.end(),
                                    [&](const ComputeProfile& candidate) { return candidate.id == profile_id; });
  if (profile == profiles.end()) return NVML_ERROR_INVALID_ARGUMENT;
  int start = 0;
  return timed(
      gpu, second_half(reconfig_time(board(gpu).model(), of).create),
      [&](const State& state) {
        const GpuInstance* gi = find_gpu_instance(state, gpu, gpu_instance);
        if (!gi) return NVML_ERROR_INVALID_ARGUMENT;
        const auto starts = free_compute_starts(state, gpu, *gi, *profile);
        if (!placement) {
          if (starts.empty()) return NVML_ERROR_INSUFFICIENT_RESOURCES;
          start = starts.front();
          return NVML_SUCCESS;
        }
        start = int(placement->start);
        if (std::find(profile->starts.begin(), profile->starts.end(), start) == profile->starts.end() ||
            int(placement->size) != profile->slices)
          return NVML_ERROR_INVALID_ARGUMENT;
        return std::find(starts.begin(), starts.end(), start) == starts.end() ? NVML_ERROR_INSUFFICIENT_RESOURCES
                                                                              : NVML_SUCCESS;
      },
      [&](State& state) {
        Gpu& gpu_state = state.gpus[gpu];
        ComputeInstance* ci = free_entry(gpu_state.compute_instances);
        SMARTMIG_CHECK(ci != nullptr, "GPU {} has room for a compute instance but no entry", gpu);
        std::uint32_t ids = 0, indices = 0;
        for (const ComputeInstance& other : gpu_state.compute_instances) {
          if (other.generation == 0) continue;
          indices |= 1u << other.mig_index;
          if (other.gpu_instance == gpu_instance) ids |= 1u << other.id;
        }
        *ci = {};
        ci->generation = generation = state.next_generation++;
        crash_point();
        ci->gpu_instance = gpu_instance;
        ci->id = std::uint32_t(std::countr_one(ids));
        ci->mig_index = std::uint32_t(std::countr_one(indices));
        ci->profile_id = profile->id;
        ci->start = start;
        ci->slices = profile->slices;
        ci->sms = profile->sms;
        draw_uuid(state, ci->uuid);
        send_event(state, gpu, nvmlEventMigConfigChange, 0, find_gpu_instance(state, gpu, gpu_instance)->id, ci->id);
      });
}

nvmlReturn_t Machine::destroy_compute_instance(int gpu, std::uint64_t generation) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  Time duration{};
  read([&](const State& state) {
    if (const ComputeInstance* ci = find_compute_instance(state, gpu, generation))
      duration = second_half(
          reconfig_time(board(gpu).model(), find_gpu_instance(state, gpu, ci->gpu_instance)->profile).destroy);
  });
  return timed(
      gpu, duration,
      [&](const State& state) {
        const ComputeInstance* ci = find_compute_instance(state, gpu, generation);
        if (!ci) return NVML_ERROR_INVALID_ARGUMENT;
        for (const Process& process : state.processes)
          if (process.owner.pid != 0 && process.gpu == gpu && process.compute_instance == generation)
            return NVML_ERROR_IN_USE;
        return held(state, gpu, ci->gpu_instance) || ci->in_use_until > store_->now() ? NVML_ERROR_IN_USE
                                                                                      : NVML_SUCCESS;
      },
      [&](State& state) {
        ComputeInstance* ci = mutable_in(state, find_compute_instance(state, gpu, generation));
        GpuInstance* gi = mutable_in(state, find_gpu_instance(state, gpu, ci->gpu_instance));
        if (const std::uint64_t lag = take_lag(state, gpu)) gi->in_use_until = store_->now() + lag;
        send_event(state, gpu, nvmlEventMigConfigChange, 0, gi->id, ci->id);
        *ci = {};
      });
}

nvmlReturn_t Machine::set_mig_mode(int gpu, unsigned mode, nvmlReturn_t& activation) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  if (mode > NVML_DEVICE_MIG_ENABLE) return NVML_ERROR_INVALID_ARGUMENT;
  refresh();
  activation = NVML_SUCCESS;
  change([&](State& state) {
    Gpu& board_state = state.gpus[gpu];
    board_state.mig_pending = mode;
    if (board_state.mig_current == mode) return true;
    bool busy = any_process(state, gpu) || held(state, gpu, 0);
    for (const GpuInstance& gi : board_state.gpu_instances) busy |= gi.generation != 0;
    // Ampere resets the board for it, which any other client prevents.
    if (board(gpu).ampere())
      for (const Owner& client : state.clients) busy |= client.pid != 0 && !(client == self());
    if (busy)
      activation = NVML_ERROR_IN_USE;
    else
      board_state.mig_current = mode;
    return true;
  });
  return NVML_SUCCESS;
}

nvmlReturn_t Machine::reset(int gpu) {
  if (!privileged()) return NVML_ERROR_NO_PERMISSION;
  refresh();
  nvmlReturn_t result = NVML_SUCCESS;
  change([&](State& state) {
    Gpu& board_state = state.gpus[gpu];
    for (Process& process : state.processes)
      if (process.stuck && process.gpu == gpu) process = {};
    if (any_process(state, gpu) || board_state.changing.pid != 0) {
      result = NVML_ERROR_IN_USE;
      return false;
    }
    for (GpuInstance& gi : board_state.gpu_instances) gi = {};
    for (ComputeInstance& ci : board_state.compute_instances) ci = {};
    board_state.mig_current = board_state.mig_pending;
    board_state.lost = 0;
    return true;
  });
  if (result == NVML_SUCCESS) show_capabilities(*this, gpu);
  return result;
}

}  // namespace smartmig::nvsim
