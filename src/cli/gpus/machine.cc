#include "cli/gpus/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "live/durable_file.h"
#include "live/emulation/emulated_machine.h"
#include "live/gpu/mps_driver.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/watched_driver.h"
#include "queue/config/places.h"

namespace smartmig::cli {
namespace {

namespace fs = std::filesystem;
constexpr Time kCallLimit = Time(60'000'000);  // of one driver call, its retries included
constexpr std::uint64_t kEmulatedSeed = 1;     // of the UUIDs of a new emulated machine
constexpr std::uint32_t kFirstBusyPid = 1001;  // of processes that --busy makes up

NvmlDriver::Options nvml_options(const GpuOptions& options, const std::string& state_dir) {
  NvmlDriver::Options nvml;
  nvml.library = options.nvml;
  nvml.state_dir = state_dir;
  nvml.adopt = options.adopt;
  nvml.allow_mode_change = options.allow_mode_change;
  nvml.patience = from_seconds(std::clamp(options.patience_s, 0.0, 45.0));
  return nvml;
}

}  // namespace

Machine::~Machine() {
  driver_.reset();
  sim_.reset();
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<Machine> Machine::open(const GpuOptions& options, bool control, const std::string& only) {
  if (options.driver != "nvml" && options.driver != "mps")
    return invalid("--driver must be nvml or mps, not '{}'", options.driver);
  if (!options.busy.empty() && options.emulate.empty()) return invalid("--busy needs --emulate");
  if (!options.emulate.empty() && options.driver == "mps")
    return invalid("give --emulate or --driver mps, not both; an emulated machine has no MPS");
  Machine machine;
  machine.state_dir_ = options.state;
  machine.only_ = only;
  if (options.emulate.empty())
    SMARTMIG_RETURN_IF_ERROR(machine.open_real(options, control));
  else
    SMARTMIG_RETURN_IF_ERROR(machine.open_emulated(options, control));
  return machine;
}

Result<Ok> Machine::open_emulated(const GpuOptions& options, bool control) {
  std::error_code error;
  if (options.state.empty() || (!control && !fs::exists(options.state + "/machine/state", error))) {
    std::string pattern = (fs::temp_directory_path() / "smartmig-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) return io_error("cannot create a temporary directory {}", pattern);
    state_dir_ = temporary_ = pattern;
  }
  EmulatedMachine::Options emulated;
  emulated.boards = options.emulate;
  emulated.directory = state_dir_ + "/machine";
  emulated.clock = "";
  emulated.seed = kEmulatedSeed;
  SMARTMIG_TRY(const EmulatedMachine machine, EmulatedMachine::open(std::move(emulated)));
  sim_ = machine.sim();
  NvmlDriver::Options nvml = nvml_options(options, state_dir_);
  nvml.name = "emulated";
  nvml.library = machine.library();
  nvml.lock_dir = machine.directory();
  nvml.control = control;
  nvml.only = only_;
  nvml.sleep = [sim = sim_](Time t) { sim->nvmlSimSleep(static_cast<unsigned long long>(t.count())); };
  SMARTMIG_TRY(driver_, NvmlDriver::open(std::move(nvml)));
  return make_busy(options.busy);
}

Result<Ok> Machine::open_real(const GpuOptions& options, bool control) {
  if (state_dir_.empty()) state_dir_ = default_state_dir();
  NvmlDriver::Options nvml = nvml_options(options, state_dir_);
  nvml.control = control && options.driver == "nvml";
  nvml.only = only_;
  SMARTMIG_TRY(auto driver, NvmlDriver::open(std::move(nvml)));
  driver_ = std::make_shared<WatchedDriver>(std::move(driver), kCallLimit);
  if (options.driver != "mps") return Ok{};
  MpsDriver::Options mps;
  mps.state_dir = state_dir_;
  mps.like = options.like;
  if (const char* program = std::getenv("SMARTMIG_MPS_CONTROL"); program && *program) mps.control = program;
  if (const char* root = std::getenv("SMARTMIG_MPS_DIR"); root && *root) mps.pipe_root = root;
  SMARTMIG_TRY(driver_, MpsDriver::open(driver_, std::move(mps)));
  if (!control) return Ok{};
  SMARTMIG_TRY(const auto boards, driver_->inventory());  // NvmlDriver was opened for reading: the lock is taken here
  std::vector<std::string> uuids;
  for (const GpuBoard& board : boards) uuids.push_back(board.uuid);
  SMARTMIG_TRY(lock_, ControllerLock::take(default_lock_directory(), uuids));
  return Ok{};
}

// "0:3g@4,1:1g@6": stand-ins of this process on these slices, so that a plan around them can be looked at.
Result<Ok> Machine::make_busy(const std::string& list) {
  if (list.empty()) return Ok{};
  unsigned int token = 0;
  for (std::string_view item : split(list, ',')) {
    const auto colon = item.find(':');
    const auto gpu = parse_int(trim(item.substr(0, colon)));
    if (colon == item.npos || !gpu || *gpu < 0)
      return invalid("--busy needs GPU:SLICE, for example 0:3g@4, not '{}'", item);
    SMARTMIG_TRY(const GpuBoard board, driver_->read(GpuId(std::uint32_t(*gpu))));
    SMARTMIG_TRY(const Layout slices, parse_layout(*board.model, item.substr(colon + 1)));
    for (PlacementId p : slices) {
      const Instance* const instance = find_instance(board, p);
      if (!instance) return not_found("--busy: {} has no slice {}", title(board), slice_name(*board.model, p));
      if (const auto code = sim_->nvmlSimStandIn(instance->uuid.c_str(), "", ++token); code != NVML_SUCCESS)
        return sim_->error(code, fmt::format("--busy {}", item));
    }
  }
  return Ok{};
}

Result<Situation> look(MigDriver& driver) {
  Situation situation;
  SMARTMIG_TRY(situation.boards, driver.inventory());
  std::uint32_t busy_pid = kFirstBusyPid;
  for (const GpuBoard& board : situation.boards) {
    std::vector<DeviceProcess> running;
    if (board.trouble.empty()) {
      SMARTMIG_TRY(running, driver.processes(GpuId{std::uint32_t(board.index)}));
    }
    for (DeviceProcess& process : running)
      if (process.pid == std::uint32_t(::getpid())) {  // this program computes nothing: a stand-in of --busy
        process.pid = busy_pid++;
        process.name = "job";
      }
    situation.busy.push_back(busy_layout(board, running));
    situation.processes.push_back(std::move(running));
  }
  return situation;
}

}  // namespace smartmig::cli
