#include "live/gpu_access.h"

#include <cstdlib>

#include "live/emulation/sim_clock.h"
#include "live/gpu/mps_driver.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/watched_driver.h"

namespace smartmig {
namespace {

constexpr Time kCallLimit = Time(60'000'000);
constexpr std::string_view kEmulate = "emulate:";

}  // namespace

Result<GpuAccess> open_gpus(const GpuAccessOptions& options) {
  GpuAccess out;
  NvmlDriver::Options nvml;
  nvml.state_dir = options.state_dir;
  nvml.adopt = options.adopt;
  nvml.control = options.driver != "mps";
  nvml.library = options.nvml;
  if (options.driver.starts_with(kEmulate)) {
    EmulatedMachine::Options emulated;
    emulated.boards = options.driver.substr(kEmulate.size());
    emulated.directory = options.state_dir + "/machine";
    emulated.clock = options.clock;
    emulated.power = options.power;
    emulated.seed = options.seed;
    SMARTMIG_TRY(EmulatedMachine machine, EmulatedMachine::open(std::move(emulated)));
    out.machine = std::make_unique<EmulatedMachine>(std::move(machine));
    nvml.library = out.machine->library();
    nvml.lock_dir = out.machine->directory();
    if (options.clock == "virtual") {
      SMARTMIG_TRY(out.clock, SimClock::open(out.machine->sim()));
      nvml.sleep = [clock = out.clock](Time t) { clock->sleep(t); };
    }
  }
  if (!out.clock) out.clock = std::make_shared<RealClock>(options.steps);
  SMARTMIG_TRY(auto driver, NvmlDriver::open(std::move(nvml)));
  out.driver = std::move(driver);
  // A virtual clock knows the threads that work on it; a watching thread in between would not be one of them.
  if (options.clock != "virtual") out.driver = std::make_shared<WatchedDriver>(out.driver, kCallLimit);
  if (options.driver == "mps") {
    MpsDriver::Options mps;
    mps.state_dir = options.state_dir;
    mps.like = options.like;
    mps.multi_user = false;
    mps.overlap = options.overlap;
    mps.halves = options.halves;
    mps.nothing_runs = options.nothing_runs;
    if (const char* program = std::getenv("SMARTMIG_MPS_CONTROL"); program && *program) mps.control = program;
    if (const char* root = std::getenv("SMARTMIG_MPS_DIR"); root && *root) mps.pipe_root = root;
    SMARTMIG_TRY(out.driver, MpsDriver::open(out.driver, std::move(mps)));
  }
  return out;
}

}  // namespace smartmig
