// Injected faults. Those of one kind of operation are looked up where it happens; those of any call pass here.
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace smartmig::nvsim {
namespace {

bool meets(const Fault& fault, std::uint32_t kind, int gpu) {
  return fault.kind == kind && (fault.gpu == -1 || fault.gpu == gpu);
}

}  // namespace

Fault* find_fault(State& state, std::uint32_t kind, int gpu) {
  for (Fault& fault : state.faults)
    if (meets(fault, kind, gpu)) return &fault;
  return nullptr;
}

void spend(Fault& fault) {
  if (fault.count != NVML_SIM_UNTIL_CLEARED && --fault.count == 0) fault = {};
}

std::uint64_t take_lag(State& state, int gpu) {
  Fault* fault = find_fault(state, NVML_SIM_FAULT_IN_USE_LAG, gpu);
  if (!fault) return 0;
  const std::uint64_t delay = fault->delay_us;
  spend(*fault);
  return delay;
}

bool keep_memory(State& state, Process& process) {
  Fault* fault = process.memory > 0 ? find_fault(state, NVML_SIM_FAULT_STUCK_MEMORY, process.gpu) : nullptr;
  if (!fault) return false;
  spend(*fault);
  process.stuck = 1;
  process.active = 0;
  return true;
}

nvmlReturn_t Machine::before_call(const char* name, int gpu) {
  const auto matches = [&](const Fault& fault) {
    return (fault.kind == NVML_SIM_FAULT_FAIL || fault.kind == NVML_SIM_FAULT_SLOW ||
            fault.kind == NVML_SIM_FAULT_HANG) &&
           (fault.gpu == -1 || fault.gpu == gpu) && std::strncmp(name, fault.call, std::strlen(fault.call)) == 0;
  };
  bool lost = false, struck = false;
  read([&](const State& state) {
    lost = gpu >= 0 && state.gpus[gpu].lost;
    struck = std::any_of(std::begin(state.faults), std::end(state.faults), matches);
  });
  if (struck) {
    std::uint64_t delay = 0, cleared = kForever;
    nvmlReturn_t code = NVML_SUCCESS;
    change([&](State& state) {
      for (Fault& fault : state.faults) {
        if (!matches(fault)) continue;
        if (fault.kind == NVML_SIM_FAULT_SLOW) delay += fault.delay_us;
        if (fault.kind == NVML_SIM_FAULT_HANG) cleared = state.hangs_cleared;
        if (fault.kind == NVML_SIM_FAULT_FAIL) code = nvmlReturn_t(fault.code);
        spend(fault);
      }
      return true;
    });
    if (delay > 0) clock_.sleep_through(delay);
    if (cleared != kForever) {
      clock_.block();
      for (bool hangs = true; hangs;) {
        const std::uint32_t bell = store_->bell();
        read([&](const State& state) { hangs = state.hangs_cleared == cleared; });
        if (hangs) store_->wait(bell, 100000);
      }
      clock_.unblock(thread_id());
    }
    if (code != NVML_SUCCESS) return code;
    if (delay > 0 || cleared != kForever) read([&](const State& state) { lost = gpu >= 0 && state.gpus[gpu].lost; });
  }
  return lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

}  // namespace smartmig::nvsim
