#include "support/fake_driver.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "model/reconfig.h"

namespace smartmig {
namespace {

constexpr int kInUseRetries = 8;             // as often as the NVML driver asks again before it gives up
constexpr Time kRetryPause = Time(100'000);  // of each
constexpr std::uint32_t kLeakingPid = 4242;  // the process of kLeakedHandle
constexpr const char* kLeakingName = "dcgm-exporter";

std::string fake_uuid(std::uint64_t a, std::uint64_t b) {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", std::uint32_t(a >> 32), a >> 16 & 0xFFFF, a & 0xFFFF,
                     b >> 48, b & 0xFFFFFFFFFFFF);
}

}  // namespace

Result<std::unique_ptr<FakeDriver>> FakeDriver::open(std::string_view spec, Options options) {
  auto platform = Platform::parse(spec);
  if (!platform) platform = Platform::parse(spec, "linear:60:45:400");  // models without measured watts
  if (!platform) return platform.error();
  std::unique_ptr<FakeDriver> driver(new FakeDriver(std::move(options)));
  driver->spec_ = platform->spec();
  for (std::size_t i = 0; i < platform->gpus(); ++i) {
    const Platform::Model& model = platform->model(GpuId(i));
    const std::uint64_t key = hash_text(driver->spec_, i);
    driver->gpus_.push_back(
        {model.gpu, model.power, "GPU-" + fake_uuid(mix64(key, 1), mix64(key, 2)), driver->options_.mig_on, 0, {}, {}});
  }
  std::error_code error;
  if (!driver->options_.file.empty() && std::filesystem::exists(driver->options_.file, error)) {
    SMARTMIG_TRY(const std::string text, read_file(driver->options_.file));
    SMARTMIG_RETURN_IF_ERROR(driver->load(text));
  }
  return driver;
}

bool FakeDriver::strikes(Gpu& gpu, Fault fault) {
  int& left = gpu.faults[int(fault)];
  return left > 0 && left-- > 0;
}

Result<FakeDriver::Gpu*> FakeDriver::reach(Lock& lock, GpuId id) {
  if (index(id) >= gpus_.size())
    return not_found("GPU {} does not exist; this machine has {}", index(id), gpus_.size());
  Gpu& gpu = gpus_[index(id)];
  hang_over_.wait(lock, [&] { return gpu.faults[int(Fault::kHang)] <= 0; });
  if (gpu.faults[int(Fault::kLost)] > 0)
    return lost_error("GPU {} ({}) does not answer: it is lost; reset it or restart the machine", index(id), gpu.uuid);
  return &gpu;
}

Result<Ok> FakeDriver::step(std::string_view what) {
  if (!options_.file.empty()) SMARTMIG_RETURN_IF_ERROR(write_file(options_.file, save()));
  if (options_.after_step) options_.after_step(what);
  return Ok{};
}

GpuBoard FakeDriver::board_of(const Gpu& gpu, std::size_t i) const {
  GpuBoard board;
  board.index = int(i);
  board.uuid = gpu.uuid;
  board.product = gpu.model->spec().products.empty() ? gpu.model->name() : gpu.model->spec().products[0];
  board.bus_id = fmt::format("00000000:{:02X}:00.0", 16 + i);
  board.pci_id = gpu.model->spec().pci_ids.empty() ? "" : gpu.model->spec().pci_ids[0];
  board.model = gpu.model;
  board.mode = board.pending = gpu.mig_on ? MigMode::kOn : MigMode::kOff;
  board.memory_mib = gpu.model->spec().memory_mib;
  board.instances = gpu.instances;
  for (const DeviceProcess& process : gpu.processes) {
    board.used_mib += process.memory_mib;
    for (Instance& instance : board.instances)
      if (instance.gpu_instance == process.gpu_instance) instance.used_mib += process.memory_mib;
  }
  fold_instances(board);
  return board;
}

Result<std::vector<GpuBoard>> FakeDriver::inventory() {
  std::vector<GpuBoard> boards;
  Lock lock(mutex_);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    auto board = see(lock, GpuId(i));
    if (!board) {
      boards.push_back(board_of(gpus_[i], i));
      boards.back().instances.clear();
      boards.back().layout = Layout{};
      boards.back().trouble = board.error().what;
    } else {
      boards.push_back(std::move(*board));
    }
  }
  return boards;
}

Result<GpuBoard> FakeDriver::read(GpuId id) {
  Lock lock(mutex_);
  return see(lock, id);
}

Result<GpuBoard> FakeDriver::see(Lock& lock, GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  GpuBoard board = board_of(*gpu, index(id));
  if (strikes(*gpu, Fault::kWrongReadBack)) {
    board.instances.clear();
    board.layout = Layout{};
  }
  return board;
}

std::string FakeDriver::new_uuid() {
  ++made_;
  return "MIG-" + fake_uuid(mix64(made_, 0x4D4947), mix64(made_, hash_text(spec_)));
}

Result<Instance> FakeDriver::make(Gpu& gpu, PlacementId where, bool ours) {
  if (!gpu.mig_on) return unsupported("{}: MIG mode is off; switch it on first", gpu.uuid);
  if (index(where) >= gpu.model->placements().size()) return invalid("{} has no placement {}", gpu.uuid, index(where));
  Layout layout;
  for (const Instance& i : gpu.instances) {
    const auto next = gpu.model->with(layout, i.placement);
    SMARTMIG_CHECK(next, "an emulated GPU holds no layout");
    layout = *next;
  }
  const std::string slice = slice_name(*gpu.model, where);
  if (!gpu.model->fits(layout, where)) return invalid("{}: no room for {} with the existing slices", gpu.uuid, slice);
  if (strikes(gpu, Fault::kCreateRefused))
    return lost_error("{}: creating {} failed: insufficient resources", gpu.uuid, slice);
  Instance made;
  made.placement = where;
  made.ours = ours;
  made.memory_mib = gpu.model->profile_of(where).memory_mib;
  for (made.gpu_instance = 1; std::any_of(gpu.instances.begin(), gpu.instances.end(),
                                          [&](const Instance& i) { return i.gpu_instance == made.gpu_instance; });)
    ++made.gpu_instance;
  gpu.instances.push_back(made);
  pass(reconfig_time(*gpu.model, gpu.model->placement(where).profile).create);
  SMARTMIG_RETURN_IF_ERROR(step("create gi"));
  if (strikes(gpu, Fault::kLeftover))
    return lost_error("{}: {} has no compute instance and could not be removed: GPU instance {} is left over", gpu.uuid,
                      slice, made.gpu_instance);
  if (strikes(gpu, Fault::kComputeRefused)) {
    gpu.instances.pop_back();
    SMARTMIG_RETURN_IF_ERROR(step("destroy gi"));
    return lost_error("{}: the compute instance of {} was refused; its GPU instance is removed again", gpu.uuid, slice);
  }
  gpu.instances.back().compute_instance = 0;
  gpu.instances.back().uuid = new_uuid();
  const Instance done = gpu.instances.back();
  SMARTMIG_RETURN_IF_ERROR(step("create ci"));
  return done;
}

Result<Instance> FakeDriver::create(GpuId id, PlacementId where) {
  Lock lock(mutex_);
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  SMARTMIG_TRY(const Instance made, make(*gpu, where, true));
  SMARTMIG_TRY(const GpuBoard seen, see(lock, id));
  const Instance* found = find_instance(seen, where);
  if (!found || found->uuid != made.uuid)
    return lost_error("{}: {} was created, but reading back does not show it", gpu->uuid,
                      slice_name(*gpu->model, where));
  return made;
}

Result<Ok> FakeDriver::create_foreign(GpuId id, PlacementId where) {
  Lock lock(mutex_);
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  SMARTMIG_RETURN_IF_ERROR(make(*gpu, where, false));
  return Ok{};
}

Result<Ok> FakeDriver::destroy(GpuId id, const Instance& instance) {
  Lock lock(mutex_);
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  const auto at = std::find_if(gpu->instances.begin(), gpu->instances.end(), [&](const Instance& i) {
    return i.gpu_instance == instance.gpu_instance && i.uuid == instance.uuid;
  });
  if (at == gpu->instances.end())
    return not_found("{}: GPU instance {} {} is not there", gpu->uuid, instance.gpu_instance, instance.uuid);
  const std::string slice = slice_name(*gpu->model, at->placement);
  if (!at->ours && !options_.adopt)
    return no_permission("{}: {} was not created by smartmig; add --adopt to take it over", gpu->uuid, slice);
  for (const DeviceProcess& process : gpu->processes)
    if (process.gpu_instance == at->gpu_instance || process.gpu_instance < 0)
      return busy_error("{}: {} is in use by pid {} ({}): stop it first", gpu->uuid, slice, process.pid, process.name);
  if (gpu->faults[int(Fault::kLeakedHandle)] > 0)
    return busy_error("{}: {} stays in use; held by pid {} ({}) through /dev/nvidia-caps/nvidia-cap{}: stop it first",
                      gpu->uuid, slice, kLeakingPid, kLeakingName, at->gpu_instance);
  for (int retry = 0; strikes(*gpu, Fault::kInUseLag); ++retry) {
    if (retry == kInUseRetries)
      return busy_error("{}: {} stays in use and no process shows as its holder", gpu->uuid, slice);
    pass(kRetryPause);
  }
  pass(reconfig_time(*gpu->model, gpu->model->placement(at->placement).profile).destroy);
  at->compute_instance = -1;
  at->uuid.clear();
  const int gi = at->gpu_instance;
  SMARTMIG_RETURN_IF_ERROR(step("destroy ci"));
  gpu->instances.erase(at);
  SMARTMIG_RETURN_IF_ERROR(step("destroy gi"));
  SMARTMIG_TRY(const GpuBoard seen, see(lock, id));
  for (const Instance& i : seen.instances)
    if (i.gpu_instance == gi)
      return lost_error("{}: {} was destroyed, but reading back still shows it", gpu->uuid, slice);
  return Ok{};
}

Result<Ok> FakeDriver::set_mig_mode(GpuId id, bool on) {
  Lock lock(mutex_);
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  if (gpu->mig_on == on) return Ok{};
  if (!options_.allow_mode_change)
    return no_permission("{}: MIG mode is {}; --allow-mode-change lets smartmig change it", gpu->uuid,
                         gpu->mig_on ? "on" : "off");
  if (!gpu->instances.empty() || !gpu->processes.empty())
    return busy_error("{}: the mode cannot change while instances or processes exist", gpu->uuid);
  gpu->mig_on = on;
  return step("mode");
}

double FakeDriver::watts(const Gpu& gpu) const {
  int slices = 0;
  double added = 0;
  for (const Instance& i : gpu.instances) {
    const bool runs = std::any_of(gpu.processes.begin(), gpu.processes.end(),
                                  [&](const DeviceProcess& p) { return p.gpu_instance == i.gpu_instance; });
    if (!runs) continue;
    slices += gpu.model->profile_of(i.placement).compute_slices;
    added += gpu.power.added("", gpu.model->profile_of(i.placement));
  }
  return gpu.power.watts(std::min(slices, gpu.model->compute_slices()), added);
}

void FakeDriver::advance(Time by) {
  const Lock lock(mutex_);
  pass(by);
}

Time FakeDriver::now() const {
  const Lock lock(mutex_);
  return now_;
}

void FakeDriver::pass(Time by) {
  for (Gpu& gpu : gpus_) gpu.joules += joules(watts(gpu), by);
  now_ += by;
}

Result<double> FakeDriver::energy(GpuId id) {
  Lock lock(mutex_);
  SMARTMIG_TRY(const Gpu* const gpu, reach(lock, id));
  return gpu->joules;
}

Result<double> FakeDriver::power(GpuId id) {
  Lock lock(mutex_);
  SMARTMIG_TRY(const Gpu* const gpu, reach(lock, id));
  return watts(*gpu);
}

Result<std::vector<DeviceProcess>> FakeDriver::processes(GpuId id) {
  Lock lock(mutex_);
  SMARTMIG_TRY(const Gpu* const gpu, reach(lock, id));
  if (unlisted) return *unlisted;
  return gpu->processes;
}

Result<Ok> FakeDriver::health(GpuId id) {
  Lock lock(mutex_);
  SMARTMIG_RETURN_IF_ERROR(reach(lock, id));
  return Ok{};
}

Result<Environment> FakeDriver::environment(GpuId id, const Instance& instance, std::uint32_t uid) {
  if (only_uid != 0 && uid != only_uid) return busy_error("another user's process runs there");
  Lock lock(mutex_);
  SMARTMIG_TRY(const Gpu* const gpu, reach(lock, id));
  if (std::none_of(gpu->instances.begin(), gpu->instances.end(),
                   [&](const Instance& i) { return i.uuid == instance.uuid; }))
    return not_found("slice {} is not there any more", instance.uuid);
  return Environment{{"CUDA_VISIBLE_DEVICES", instance.uuid}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

Result<Ok> FakeDriver::start_process(GpuId id, PlacementId where, DeviceProcess process) {
  Lock lock(mutex_);
  SMARTMIG_TRY(Gpu* const gpu, reach(lock, id));
  if (where == kNoPlacement) {  // on the whole board
    gpu->processes.push_back(std::move(process));
    return step("process");
  }
  for (const Instance& i : gpu->instances)
    if (i.placement == where) {
      process.gpu_instance = i.gpu_instance;
      gpu->processes.push_back(std::move(process));
      return step("process");
    }
  return not_found("{}: no instance at {}", gpu->uuid, slice_name(*gpu->model, where));
}

void FakeDriver::end_process(std::uint32_t pid) {
  const Lock lock(mutex_);
  for (Gpu& gpu : gpus_) std::erase_if(gpu.processes, [&](const DeviceProcess& p) { return p.pid == pid; });
}

void FakeDriver::reset(GpuId id) {
  Lock lock(mutex_);
  Gpu& gpu = gpus_[index(id)];
  gpu.instances.clear();
  gpu.processes.clear();
  gpu.faults[int(Fault::kLost)] = 0;
}

void FakeDriver::inject(Fault fault, GpuId gpu, int count) {
  const Lock lock(mutex_);
  gpus_.at(index(gpu)).faults[int(fault)] = count;
}

void FakeDriver::clear_faults() {
  {
    const Lock lock(mutex_);
    for (Gpu& gpu : gpus_) std::fill(std::begin(gpu.faults), std::end(gpu.faults), 0);
  }
  hang_over_.notify_all();
}

}  // namespace smartmig
