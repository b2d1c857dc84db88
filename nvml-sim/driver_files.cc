#include "driver_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "machine_init.h"
#include "nvml_shared.h"

namespace smartmig::nvsim {
namespace {

namespace fs = std::filesystem;

constexpr int kOwnerReads = 0400, kAllRead = 0444;

std::string capability_text(int minor, int mode) {
  return fmt::format("DeviceFileMinor: {}\nDeviceFileMode: {}\nDeviceFileModify: 1\n", minor, mode);
}

std::string version_text() {
  return fmt::format(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (nvml-sim)\n"
      "GCC version:  none: nothing is loaded\n",
      kDriverVersion);
}

std::string information_text(Machine& m, int gpu) {
  return fmt::format(
      "Model: \t\t {}\nIRQ:   \t\t 0\nGPU UUID: \t {}\nVideo BIOS: \t 00.00.00.00.00\nBus Type: \t PCIe\n"
      "DMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t {}\nDevice Minor: \t {}\nGPU Firmware: \t {}\n"
      "GPU Excluded:\t No\n",
      m.board(gpu).product(), board_uuid(m, gpu), pci_address(gpu), gpu, kDriverVersion);
}

std::string driver_folder(Machine& m) { return m.store().directory() + "/proc/driver/nvidia"; }
std::string capability_folder(Machine& m, int gpu) {
  return fmt::format("{}/capabilities/gpu{}/mig", driver_folder(m), gpu);
}

Result<Ok> write_below(const std::string& folder, std::string_view name, const std::string& text) {
  std::error_code failed;
  const fs::path path = fs::path(folder) / name;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return io_error("{}: {}", path.parent_path().string(), failed.message());
  return write_file(path.string(), text);
}

// Of boards that an earlier machine in this folder had.
void forget_other_boards(Machine& m) {
  std::set<std::string> wanted = {"mig"};
  for (int gpu = 0; gpu < m.gpu_count(); ++gpu) {
    wanted.insert(pci_address(gpu));
    wanted.insert(fmt::format("gpu{}", gpu));
  }
  std::vector<fs::path> others;
  std::error_code ignored;
  for (const char* folder : {"/gpus", "/capabilities"})
    for (const auto& entry : fs::directory_iterator(driver_folder(m) + folder, ignored))
      if (!wanted.contains(entry.path().filename().string())) others.push_back(entry.path());
  for (const fs::path& other : others) fs::remove_all(other, ignored);
}

}  // namespace

std::string pci_address(int gpu) { return fmt::format("0000:{:02x}:00.0", pci_bus(gpu)); }

Result<Ok> make_driver_files(Machine& m) {
  const std::string folder = driver_folder(m);
  forget_other_boards(m);
  SMARTMIG_RETURN_IF_ERROR(write_below(folder, "version", version_text()));
  SMARTMIG_RETURN_IF_ERROR(
      write_below(folder, "params", "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"));
  SMARTMIG_RETURN_IF_ERROR(write_below(folder, "capabilities/mig/config", capability_text(kConfigMinor, kOwnerReads)));
  SMARTMIG_RETURN_IF_ERROR(write_below(folder, "capabilities/mig/monitor", capability_text(kMonitorMinor, kAllRead)));
  for (int gpu = 0; gpu < m.gpu_count(); ++gpu) {
    SMARTMIG_RETURN_IF_ERROR(
        write_below(folder, fmt::format("gpus/{}/information", pci_address(gpu)), information_text(m, gpu)));
    std::error_code failed;
    fs::create_directories(capability_folder(m, gpu), failed);
    if (failed) return io_error("{}: {}", capability_folder(m, gpu), failed.message());
    show_capabilities(m, gpu);
  }
  return Ok{};
}

void show_capabilities(Machine& m, int gpu) {
  if (m.store().directory().empty()) return;
  const std::string folder = capability_folder(m, gpu);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::flock(fd, LOCK_EX);               // who comes last reads the newest state
  std::map<std::string, int> wanted;  // file and minor number
  m.read([&](const State& state) {
    for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
      if (gi.generation != 0) wanted[fmt::format("gi{}/access", gi.id)] = gpu_instance_minor(gpu, gi.id);
    for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
      if (ci.generation != 0) {
        const unsigned gi = find_gpu_instance(state, gpu, ci.gpu_instance)->id;
        wanted[fmt::format("gi{}/ci{}/access", gi, ci.id)] = compute_instance_minor(gpu, gi, ci.id);
      }
  });
  std::error_code ignored;
  for (unsigned gi = 0; gi < kInstanceIds; ++gi) {
    const std::string instance = fmt::format("gi{}", gi);
    if (!wanted.contains(instance + "/access")) fs::remove_all(fs::path(folder) / instance, ignored);
    for (unsigned ci = 0; ci < kComputeInstanceIds; ++ci)
      if (const std::string part = fmt::format("{}/ci{}", instance, ci); !wanted.contains(part + "/access"))
        fs::remove_all(fs::path(folder) / part, ignored);
  }
  for (const auto& [name, minor] : wanted)
    if (!fs::exists(fs::path(folder) / name, ignored))
      if (auto written = write_below(folder, name, capability_text(minor, kAllRead)); !written) break;
  ::close(fd);
}

}  // namespace smartmig::nvsim
