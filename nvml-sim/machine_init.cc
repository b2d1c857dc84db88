#include "machine_init.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "board.h"

namespace smartmig::nvsim {
namespace {

constexpr std::string_view kClocks[] = {"real", "zero", "virtual"};

std::string capability(int minor) { return fmt::format("nvidia-caps/nvidia-cap{}", minor); }

}  // namespace

Result<std::uint32_t> clock_mode_named(std::string_view name) {
  for (std::uint32_t mode = 0; mode < std::size(kClocks); ++mode)
    if (kClocks[mode] == name) return mode;
  return invalid("no clock '{}': real, zero or virtual", name);
}
std::string_view clock_mode_name(std::uint32_t mode) { return mode < std::size(kClocks) ? kClocks[mode] : "unknown"; }

Result<Ok> fill_state(State& state, const MachineSpec& spec) {
  state.seed = spec.seed;
  while (state.seed == 0)
    if (::getrandom(&state.seed, sizeof state.seed, 0) != sizeof state.seed)
      return io_error("the system gives no random numbers for UUIDs: give --seed");
  for (std::string_view part : split(spec.gpus, ',')) {
    part = trim(part);
    std::int64_t count = 1;
    if (const auto x = part.find('x'); x != std::string_view::npos && parse_int(part.substr(0, x))) {
      count = *parse_int(part.substr(0, x));
      part.remove_prefix(x + 1);
    }
    if (count < 1 || state.gpu_count + count > kMaxGpus)
      return invalid("--gpus {}: a machine has 1 to {} GPUs", spec.gpus, kMaxGpus);
    SMARTMIG_TRY(const auto board, Board::named(part, spec.power));
    for (; count > 0; --count) {
      Gpu& gpu = state.gpus[state.gpu_count++];
      board->name().copy(gpu.model, sizeof gpu.model - 1);
      board->power_name().copy(gpu.power, sizeof gpu.power - 1);
      draw_uuid(state, gpu.uuid);
      gpu.mig_current = gpu.mig_pending = spec.mig;
      gpu.limit_mw = unsigned(board->limit_watts() * 1000);
      gpu.watts = board->power().idle();
    }
  }
  return Ok{};
}

void make_device_files(const std::string& directory) {
  const auto touch = [&](const std::string& name) {
    const int fd = ::open((directory + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) ::close(fd);
  };
  for (const char* name : {"/dev", "/dev/nvidia-caps", "/proc", "/proc/driver", "/proc/driver/nvidia-caps"})
    ::mkdir((directory + name).c_str(), 0777);
  touch("controller.lock");
  touch("dev/nvidiactl");
  std::string minors = fmt::format("config {}\nmonitor {}\n", kConfigMinor, kMonitorMinor);
  for (int gpu = 0; gpu < kMaxGpus; ++gpu)
    for (unsigned gi = 0; gi < kInstanceIds; ++gi) {
      minors += fmt::format("gpu{}/gi{}/access {}\n", gpu, gi, gpu_instance_minor(gpu, gi));
      for (unsigned ci = 0; ci < kComputeInstanceIds; ++ci)
        minors += fmt::format("gpu{}/gi{}/ci{}/access {}\n", gpu, gi, ci, compute_instance_minor(gpu, gi, ci));
    }
  // Convenience for scans; a machine whose directory is read-only for us works without.
  if (auto written = write_file(directory + "/proc/driver/nvidia-caps/mig-minors", minors); !written) return;
}

std::string board_node(int gpu) { return fmt::format("nvidia{}", gpu); }
int gpu_instance_minor(int gpu, unsigned gpu_instance) {
  constexpr int kFirst = kMonitorMinor + 1;
  return kFirst + (gpu * int(kInstanceIds) + int(gpu_instance)) * (int(kComputeInstanceIds) + 1);
}
int compute_instance_minor(int gpu, unsigned gpu_instance, unsigned compute_instance) {
  return gpu_instance_minor(gpu, gpu_instance) + 1 + int(compute_instance);
}
std::string gpu_instance_node(int gpu, unsigned gpu_instance) {
  return capability(gpu_instance_minor(gpu, gpu_instance));
}
std::string compute_instance_node(int gpu, unsigned gpu_instance, unsigned compute_instance) {
  return capability(compute_instance_minor(gpu, gpu_instance, compute_instance));
}

std::string uuid_text(const std::uint64_t (&uuid)[2]) {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", uuid[0] >> 32, uuid[0] >> 16 & 0xFFFF, uuid[0] & 0xFFFF,
                     uuid[1] >> 48, uuid[1] & 0xFFFFFFFFFFFF);
}

void draw_uuid(State& state, std::uint64_t (&uuid)[2]) {
  const std::uint64_t counter = state.next_generation++;
  uuid[0] = (mix64(state.seed, 2 * counter) & ~std::uint64_t(0xF000)) | 0x5000;                         // version 5
  uuid[1] = (mix64(state.seed, 2 * counter + 1) & ~(std::uint64_t(3) << 62)) | std::uint64_t(2) << 62;  // variant 1
}

}  // namespace smartmig::nvsim
