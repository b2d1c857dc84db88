// One board's readings at one instant, for the files that answer from them. Power and energy exist for whole boards
// only, utilisation not at all while MIG is on, as on the real thing.
#pragma once
#include <cmath>
#include <cstdint>
#include <ctime>

#include "nvml_shared.h"

namespace smartmig::nvsim {

struct Reading {
  double watts = 0;
  std::uint64_t energy_uj = 0;
  bool mig = false, busy = false;
  unsigned limit_mw = 0;
};
Reading read_board(Machine& m, int gpu);

// f(machine, gpu, reading) for a board's handle; NOT_SUPPORTED for a MIG device's.
template <class F>
nvmlReturn_t reading(const char* name, nvmlDevice_t device, F&& f) {
  return on_handle(name, device, [&](Machine& m, const Handle& h) {
    if (h.kind == Kind::kMigDevice) return NVML_ERROR_NOT_SUPPORTED;
    return h.kind == Kind::kBoard ? f(m, h.gpu, read_board(m, h.gpu)) : NVML_ERROR_INVALID_ARGUMENT;
  });
}

inline unsigned milliwatts(double watts) { return unsigned(std::lround(watts * 1000)); }

// Microseconds since 1970: what NVML's time stamps count, whatever clock the machine is on.
inline unsigned long long unix_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1000000u + static_cast<unsigned long long>(now.tv_nsec) / 1000u;
}

}  // namespace smartmig::nvsim
