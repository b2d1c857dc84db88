// For tests: an emulated machine in a temporary directory with its clock and, on demand, a driver over it. One at a
// time in a process, for a process has one machine. The library lies beside the test program.
#pragma once
#include <gtest/gtest.h>

#include "live/emulation/emulated_machine.h"
#include "live/emulation/sim_clock.h"
#include "live/gpu/nvml_driver.h"
#include "live/gpu/reshaper.h"
#include "support/temp_dir.h"

namespace smartmig {

struct SimWorld {
  explicit SimWorld(const std::string& boards, const std::string& clock_name = "virtual") {
    EmulatedMachine::Options options;
    options.boards = boards;
    options.clock = clock_name;
    options.directory = dir.path() + "/machine";
    options.seed = 7;
    auto opened = EmulatedMachine::open(std::move(options));
    SMARTMIG_CHECK(opened, "{}", opened.error().what);
    machine = std::make_unique<EmulatedMachine>(std::move(*opened));
    if (clock_name == "virtual")
      clock = std::move(*SimClock::open(machine->sim()));
    else
      clock = std::make_shared<RealClock>();
    NvmlDriver::Options driving;
    driving.library = machine->library();
    driving.state_dir = dir.path() + "/state";
    driving.lock_dir = dir.path();
    driving.control = true;
    driving.first_pause = Time(1'000);
    driving.patience = Time(50'000);
    driving.sleep = [c = clock](Time t) { c->sleep(t); };
    auto driver_opened = NvmlDriver::open(std::move(driving));
    SMARTMIG_CHECK(driver_opened, "{}", driver_opened.error().what);
    driver = std::move(*driver_opened);
    auto made = Reshaper::open(*driver, dir.path() + "/state");
    SMARTMIG_CHECK(made, "{}", made.error().what);
    reshaper = std::make_unique<Reshaper>(std::move(*made));
  }
  ~SimWorld() { ::unsetenv("NVML_SIM_STATE"); }
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  PlacementId place(GpuId gpu, const char* text) const {
    const auto layout = parse_layout(*driver->read(gpu)->model, text);
    SMARTMIG_CHECK(layout, "{}", layout.error().what);
    return *layout->begin();
  }
  nvmlReturn_t fault(nvmlSimFaultKind_t kind, int gpu, unsigned count = 1, unsigned code = 0, const char* call = "") {
    nvmlSimFault_t f{};
    f.kind = kind;
    f.gpu = gpu;
    f.count = count;
    f.code = code;
    f.gpuInstanceId = NVML_NO_INSTANCE_ID;
    std::string_view(call).copy(f.call, sizeof f.call - 1);
    return machine->sim()->nvmlSimInjectFault(&f);
  }

  TempDir dir;
  std::unique_ptr<EmulatedMachine> machine;
  std::shared_ptr<LiveClock> clock;
  std::shared_ptr<NvmlDriver> driver;
  std::unique_ptr<Reshaper> reshaper;
};

}  // namespace smartmig
