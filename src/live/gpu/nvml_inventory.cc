// The reading half of NvmlDriver: which boards, which geometry, which instances.
#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "live/gpu/holders.h"
#include "live/gpu/nvml_driver.h"

namespace smartmig {
namespace {

constexpr unsigned int kMaxProfiles = 64;   // ids are asked for until NVML says that there are no more
constexpr unsigned int kMaxInstances = 64;  // room for the answers of one call
constexpr unsigned int kMaxPlacements = 64;

MigMode mode_of(unsigned int nvml) { return nvml == NVML_DEVICE_MIG_ENABLE ? MigMode::kOn : MigMode::kOff; }

}  // namespace

Result<std::vector<SeenProfile>> NvmlDriver::see_profiles(nvmlDevice_t device, const std::string& title) {
  std::vector<SeenProfile> seen;
  for (unsigned int i = 0; i < kMaxProfiles; ++i) {
    nvmlGpuInstanceProfileInfo_t info{};
    const nvmlReturn_t code = nvml_->nvmlDeviceGetGpuInstanceProfileInfo(device, i, &info);
    if (code == NVML_ERROR_INVALID_ARGUMENT) break;
    if (code == NVML_ERROR_NOT_SUPPORTED) continue;
    if (code != NVML_SUCCESS) return nvml_->error(code, fmt::format("{}: reading profile {}", title, i));
    SeenProfile p;
    p.nvml_enum = int(i);
    p.nvml_id = int(info.id);
    p.compute_slices = int(info.sliceCount);
    p.sms = int(info.multiprocessorCount);
    p.memory_mib = int(info.memorySizeMB);
    nvmlGpuInstancePlacement_t places[kMaxPlacements] = {};
    unsigned int count = kMaxPlacements;
    const nvmlReturn_t placed = nvml_->nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, info.id, places, &count);
    if (placed == NVML_ERROR_NO_PERMISSION) {
      p.placements_known = false;
    } else if (placed != NVML_SUCCESS) {
      return nvml_->error(placed, fmt::format("{}: reading the placements of profile {}", title, info.id));
    }
    for (unsigned int k = 0; p.placements_known && k < std::min(count, kMaxPlacements); ++k) {
      p.starts.push_back(int(places[k].start));
      p.length = int(places[k].size);
    }
    std::sort(p.starts.begin(), p.starts.end());
    seen.push_back(std::move(p));
  }
  return seen;
}

Result<Ok> NvmlDriver::find_gpus() {
  char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
  if (nvml_->nvmlSystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS) driver_version_ = text;
  unsigned int count = 0;
  if (const auto code = nvml_->nvmlDeviceGetCount_v2(&count); code != NVML_SUCCESS)
    return nvml_->error(code, "counting the GPUs");
  for (unsigned int i = 0; i < count; ++i) {
    Gpu& gpu = gpus_.emplace_back();
    gpu.fixed.index = int(i);
    if (const auto done = find(gpu); done)
      gpu.found = true;
    else
      gpu.fixed.trouble = done.error().what;
  }
  return Ok{};
}

Result<Ok> NvmlDriver::find(Gpu& gpu) {
  char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
  const auto i = unsigned(gpu.fixed.index);
  if (const auto code = nvml_->nvmlDeviceGetHandleByIndex_v2(i, &gpu.handle); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("GPU {}", i));
  if (nvml_->nvmlDeviceGetName(gpu.handle, text, sizeof text) == NVML_SUCCESS) gpu.fixed.product = text;
  if (const auto code = nvml_->nvmlDeviceGetUUID(gpu.handle, text, sizeof text); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("GPU {}: reading its UUID", i));
  gpu.fixed.uuid = text;
  unsigned int minor = i;
  if (nvml_->nvmlDeviceGetMinorNumber(gpu.handle, &minor) == NVML_SUCCESS) gpu.minor = int(minor);
  nvmlPciInfo_t pci{};
  if (nvml_->nvmlDeviceGetPciInfo_v3(gpu.handle, &pci) == NVML_SUCCESS) {
    gpu.fixed.bus_id = pci.busId;
    gpu.fixed.pci_id = fmt::format("0x{:08X}", pci.pciDeviceId);
    gpu.fixed.pci_subsystem = fmt::format("0x{:08X}", pci.pciSubSystemId);
  }
  unsigned int current = 0, pending = 0;
  const auto mode = nvml_->nvmlDeviceGetMigMode(gpu.handle, &current, &pending);
  if (mode == NVML_ERROR_NOT_SUPPORTED) return Ok{};
  if (mode != NVML_SUCCESS) return nvml_->error(mode, fmt::format("{}: reading the MIG mode", title(gpu.fixed)));
  const Catalog& catalog = options_.catalog ? *options_.catalog : Catalog::builtin();
  auto model = catalog.find(gpu.fixed.pci_id);
  if (!model) model = catalog.find(gpu.fixed.product);
  if (!model) {
    gpu.fixed.trouble =
        fmt::format("{} ({}) is not in the catalogue of GPU models", gpu.fixed.product, gpu.fixed.pci_id);
  } else if (auto seen = see_profiles(gpu.handle, title(gpu.fixed)); !seen) {
    gpu.fixed.model = *model;
    gpu.fixed.trouble = seen.error().what;
  } else if (auto check = check_model(*model, *seen); !check) {
    gpu.fixed.model = *model;
    gpu.seen = std::move(*seen);
    gpu.fixed.trouble = check.error().what;
  } else {
    gpu.fixed.model = check->model;
    gpu.fixed.notes = std::move(check->notes);
    gpu.seen = std::move(*seen);
  }
  return Ok{};
}

// It may have been reset since the driver was opened.
Result<Ok> NvmlDriver::find_later(Gpu& gpu) {
  const std::lock_guard finding(gpu.finding);
  if (gpu.found) return Ok{};
  const std::string before = std::exchange(gpu.fixed.trouble, "");
  auto done = find(gpu);
  if (done && options_.control && !gpu.locked && wanted(gpu)) done = lock(gpu);
  if (!done) {
    gpu.fixed.trouble = before;
    return done;
  }
  watch(gpu);
  gpu.found = true;
  return Ok{};
}

Result<NvmlDriver::Gpu*> NvmlDriver::reach(GpuId id) {
  if (index(id) >= gpus_.size()) return not_found("GPU {} does not exist; NVML has {}", index(id), gpus_.size());
  Gpu& gpu = gpus_[index(id)];
  if (!gpu.found) SMARTMIG_RETURN_IF_ERROR(find_later(gpu));
  return &gpu;
}

Result<const std::vector<NvmlDriver::ComputeProfile>*> NvmlDriver::compute_profiles(Gpu& gpu, nvmlGpuInstance_t gi,
                                                                                    int profile_id) {
  {
    const std::lock_guard lock(profiles_mutex_);
    if (const auto at = gpu.compute_profiles.find(profile_id); at != gpu.compute_profiles.end()) return &at->second;
  }
  std::vector<ComputeProfile> found;
  for (unsigned int i = 0; i < kMaxProfiles; ++i) {
    nvmlComputeInstanceProfileInfo_t info{};
    const auto code =
        nvml_->nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, i, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, &info);
    if (code == NVML_ERROR_INVALID_ARGUMENT) break;
    if (code == NVML_ERROR_NOT_SUPPORTED) continue;
    if (code != NVML_SUCCESS)
      return nvml_->error(code, fmt::format("{}: reading compute instance profile {}", title(gpu.fixed), i));
    found.push_back({info.id, info.sliceCount, info.multiprocessorCount});
  }
  const std::lock_guard lock(profiles_mutex_);
  return &gpu.compute_profiles.emplace(profile_id, std::move(found)).first->second;
}

Result<std::vector<nvmlComputeInstance_t>> NvmlDriver::compute_instances(Gpu& gpu, nvmlGpuInstance_t gi,
                                                                         int profile_id) {
  SMARTMIG_TRY(const auto* const profiles, compute_profiles(gpu, gi, profile_id));
  std::vector<nvmlComputeInstance_t> all;
  for (const ComputeProfile& p : *profiles) {
    nvmlComputeInstance_t list[kMaxInstances] = {};
    unsigned int count = kMaxInstances;
    const auto code = nvml_->nvmlGpuInstanceGetComputeInstances(gi, p.id, list, &count);
    if (code == NVML_ERROR_NOT_SUPPORTED) continue;
    if (code != NVML_SUCCESS) return nvml_->error(code, fmt::format("{}: listing compute instances", title(gpu.fixed)));
    all.insert(all.end(), list, list + std::min(count, kMaxInstances));
  }
  return all;
}

// The handle inside the CI's info is a MIG device; NVML may hand out a stale one, so its ids are checked and else all
// MIG devices of the board are walked.
Result<std::string> NvmlDriver::uuid_of(Gpu& gpu, const nvmlComputeInstanceInfo_t& info, unsigned int gi,
                                        nvmlDevice_t& mig) {
  const auto is_it = [&](nvmlDevice_t device) {
    unsigned int gi_id = 0, ci_id = 0;
    return nvml_->nvmlDeviceGetGpuInstanceId(device, &gi_id) == NVML_SUCCESS &&
           nvml_->nvmlDeviceGetComputeInstanceId(device, &ci_id) == NVML_SUCCESS && gi_id == gi && ci_id == info.id;
  };
  mig = info.device;
  if (!mig || !is_it(mig)) {
    mig = nullptr;
    unsigned int count = 0;
    if (const auto code = nvml_->nvmlDeviceGetMaxMigDeviceCount(gpu.handle, &count); code != NVML_SUCCESS)
      return nvml_->error(code, fmt::format("{}: counting MIG devices", title(gpu.fixed)));
    for (unsigned int i = 0; i < count && !mig; ++i) {
      nvmlDevice_t device = nullptr;
      if (nvml_->nvmlDeviceGetMigDeviceHandleByIndex(gpu.handle, i, &device) == NVML_SUCCESS && is_it(device))
        mig = device;
    }
    if (!mig)
      return lost_error("{}: GPU instance {} has compute instance {} but no MIG device", title(gpu.fixed), gi, info.id);
  }
  char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
  if (const auto code = nvml_->nvmlDeviceGetUUID(mig, text, sizeof text); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: reading the UUID of GPU instance {}", title(gpu.fixed), gi));
  return std::string(text);
}

Result<Instance> NvmlDriver::read_instance(Gpu& gpu, nvmlGpuInstance_t handle) {
  nvmlGpuInstanceInfo_t info{};
  if (const auto code = nvml_->nvmlGpuInstanceGetInfo(handle, &info); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: reading a GPU instance", title(gpu.fixed)));
  Instance instance;
  instance.gpu_instance = int(info.id);
  const GpuModel& model = *gpu.fixed.model;
  for (std::size_t i = 0; i < model.profiles().size(); ++i)
    if (model.profiles()[i].nvml_id == int(info.profileId)) {
      instance.placement = model.find_placement(int(i), int(info.placement.start));
      instance.memory_mib = model.profiles()[i].memory_mib;
    }
  SMARTMIG_TRY(const auto* const profiles, compute_profiles(gpu, handle, int(info.profileId)));
  SMARTMIG_TRY(const auto cis, compute_instances(gpu, handle, int(info.profileId)));
  for (nvmlComputeInstance_t ci : cis) {
    nvmlComputeInstanceInfo_t ci_info{};
    if (const auto code = nvml_->nvmlComputeInstanceGetInfo_v2(ci, &ci_info); code != NVML_SUCCESS)
      return nvml_->error(code, fmt::format("{}: reading a compute instance", title(gpu.fixed)));
    nvmlDevice_t mig = nullptr;
    SMARTMIG_TRY(const std::string uuid, uuid_of(gpu, ci_info, info.id, mig));
    const auto profile = std::find_if(profiles->begin(), profiles->end(),
                                      [&](const ComputeProfile& p) { return p.id == ci_info.profileId; });
    instance.parts.push_back({int(ci_info.id), profile == profiles->end() ? 0 : int(profile->slices), uuid});
    if (instance.compute_instance >= 0 && int(ci_info.id) > instance.compute_instance) continue;
    instance.uuid = uuid;
    instance.compute_instance = int(ci_info.id);
    nvmlMemory_t memory{};
    if (nvml_->nvmlDeviceGetMemoryInfo(mig, &memory) == NVML_SUCCESS) {
      instance.memory_mib = int(memory.total >> 20);
      instance.used_mib = int(memory.used >> 20);
    }
  }
  std::sort(instance.parts.begin(), instance.parts.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (instance.parts.size() == 1 && instance.placement != kNoPlacement &&
      instance.parts[0].slices == model.profile_of(instance.placement).compute_slices)
    instance.parts.clear();
  instance.ours =
      (!instance.uuid.empty() && ledger_.owns(instance.uuid)) ||
      (instance.placement != kNoPlacement && ledger_.promised(gpu.fixed.uuid, slice_name(model, instance.placement)));
  return instance;
}

Result<Ok> NvmlDriver::read_instances(Gpu& gpu, GpuBoard& board) {
  for (const SeenProfile& p : gpu.seen) {
    nvmlGpuInstance_t list[kMaxInstances] = {};
    unsigned int count = kMaxInstances;
    const auto code = nvml_->nvmlDeviceGetGpuInstances(gpu.handle, unsigned(p.nvml_id), list, &count);
    if (code == NVML_ERROR_NOT_SUPPORTED) continue;
    if (code != NVML_SUCCESS)
      return nvml_->error(code, fmt::format("{}: listing the instances of profile {}", title(gpu.fixed), p.nvml_id));
    for (unsigned int i = 0; i < std::min(count, kMaxInstances); ++i) {
      SMARTMIG_TRY(Instance instance, read_instance(gpu, list[i]));
      board.instances.push_back(std::move(instance));
    }
  }
  return Ok{};
}

Result<GpuBoard> NvmlDriver::read(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  GpuBoard board = gpu->fixed;
  unsigned int current = 0, pending = 0;
  const auto mode = nvml_->nvmlDeviceGetMigMode(gpu->handle, &current, &pending);
  if (mode == NVML_SUCCESS) {
    board.mode = mode_of(current);
    board.pending = mode_of(pending);
  } else if (mode != NVML_ERROR_NOT_SUPPORTED) {
    return nvml_->error(mode, fmt::format("{}: reading the MIG mode", title(board)));
  }
  nvmlMemory_t memory{};
  if (nvml_->nvmlDeviceGetMemoryInfo(gpu->handle, &memory) == NVML_SUCCESS) {
    board.memory_mib = int(memory.total >> 20);
    board.used_mib = int(memory.used >> 20);
  }
  if (board.mode == MigMode::kOn && board.model) {
    SMARTMIG_RETURN_IF_ERROR(read_instances(*gpu, board));
    fold_instances(board);
  }
  return board;
}

Result<std::vector<GpuBoard>> NvmlDriver::inventory() {
  std::vector<GpuBoard> boards;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    auto board = read(GpuId(i));
    if (board) {
      boards.push_back(std::move(*board));
    } else {
      const std::lock_guard finding(gpus_[i].finding);
      boards.push_back(gpus_[i].fixed);
      boards.back().trouble = board.error().what;
      boards.back().lost = board.error().code == Error::kLost;
    }
  }
  return boards;
}

Result<std::vector<DeviceProcess>> NvmlDriver::processes(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  std::vector<nvmlProcessInfo_t> infos(32);
  nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_SIZE;
  unsigned int count = 0;
  for (int tries = 0; tries < 8 && code == NVML_ERROR_INSUFFICIENT_SIZE; ++tries) {
    infos.resize(std::max(infos.size(), std::size_t(count) + 16));
    count = unsigned(infos.size());
    code = nvml_->nvmlDeviceGetComputeRunningProcesses_v3(gpu->handle, &count, infos.data());
  }
  if (code != NVML_SUCCESS) return nvml_->error(code, fmt::format("{}: listing its processes", title(gpu->fixed)));
  std::vector<DeviceProcess> list;
  for (unsigned int i = 0; i < count; ++i) {
    DeviceProcess process;
    process.pid = infos[i].pid;
    process.gpu_instance = infos[i].gpuInstanceId == NVML_NO_INSTANCE_ID ? -1 : int(infos[i].gpuInstanceId);
    process.memory_mib = infos[i].usedGpuMemory == ~0ull ? 0 : int(infos[i].usedGpuMemory >> 20);
    std::ifstream comm(fmt::format("{}/{}/comm", options_.proc_root, process.pid));
    std::getline(comm, process.name);
    list.push_back(std::move(process));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return list;
}

Result<double> NvmlDriver::energy(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  unsigned long long millijoules = 0;
  if (const auto code = nvml_->nvmlDeviceGetTotalEnergyConsumption(gpu->handle, &millijoules); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: reading its energy counter", title(gpu->fixed)));
  return double(millijoules) / 1000;
}

Result<double> NvmlDriver::power(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  unsigned int milliwatts = 0;
  if (const auto code = nvml_->nvmlDeviceGetPowerUsage(gpu->handle, &milliwatts); code != NVML_SUCCESS)
    return nvml_->error(code, fmt::format("{}: reading its power", title(gpu->fixed)));
  return double(milliwatts) / 1000;
}

Result<Environment> NvmlDriver::environment(GpuId id, const Instance& instance, std::uint32_t) {
  SMARTMIG_TRY(const Gpu* const gpu, reach(id));
  // A reset takes the slices with it; whoever is sent to one that is gone fails at once.
  nvmlDevice_t device{};
  if (nvml_->nvmlDeviceGetHandleByUUID &&
      nvml_->nvmlDeviceGetHandleByUUID(instance.uuid.c_str(), &device) == NVML_ERROR_NOT_FOUND)
    return not_found("{}: slice {} does not exist", title(gpu->fixed), instance.uuid);
  return Environment{{"CUDA_VISIBLE_DEVICES", instance.uuid}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

std::vector<std::string> NvmlDriver::device_nodes(GpuId id, const Instance& instance) {
  if (index(id) >= gpus_.size() || !gpus_[index(id)].found || gpus_[index(id)].minor < 0) return {};
  return nodes_of_slice({options_.proc_root, gpus_[index(id)].minor, instance.gpu_instance, instance.compute_instance});
}

void NvmlDriver::pause(Time t) const {
  if (options_.sleep)
    options_.sleep(t);
  else
    std::this_thread::sleep_for(t);
}

}  // namespace smartmig
