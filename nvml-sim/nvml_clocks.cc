// Clocks: now, at most, of applications; which ones are supported; why they are not higher. They can be read, not set.
#include "nvml_reading.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr unsigned kGraphicsStepMhz = 15;

unsigned clock_now(const Board::Clocks& clocks, nvmlClockType_t type, bool busy) {
  return type == NVML_CLOCK_MEM ? clocks.memory : busy ? clocks.sm_max : clocks.sm_idle;
}

enum class Fixed { kMost, kApplications };
nvmlReturn_t fixed_clock(const char* name, nvmlDevice_t device, nvmlClockType_t type, Fixed which, unsigned* clock) {
  return on_board(name, device, [&](Machine& m, int gpu) {
    if (unsigned(type) >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    const Board::Clocks clocks = m.board(gpu).clocks();
    return put(clock, type == NVML_CLOCK_MEM  ? clocks.memory
                      : which == Fixed::kMost ? clocks.sm_max
                                              : clocks.sm_applications);
  });
}

// A list of which the caller gives the room: INSUFFICIENT_SIZE and the right count where it is too small.
nvmlReturn_t put_list(const std::vector<unsigned>& all, unsigned* count, unsigned* out) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned room = *count;
  *count = unsigned(all.size());
  if (!out || room < all.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::copy(all.begin(), all.end(), out);
  return NVML_SUCCESS;
}

nvmlReturn_t performance_state(const char* name, nvmlDevice_t device, nvmlPstates_t* state) {
  return on_board(name, device, [&](Machine&, int) { return put(state, NVML_PSTATE_0); });
}

constexpr unsigned long long kReasonIdle = 0x1, kReasonPowerCap = 0x4;
nvmlReturn_t reasons_now(const char* name, nvmlDevice_t device, unsigned long long* reasons) {
  return reading(name, device, [&](Machine&, int, const Reading& r) {
    return put(reasons, !r.busy ? kReasonIdle : milliwatts(r.watts) >= r.limit_mw ? kReasonPowerCap : 0ull);
  });
}
nvmlReturn_t reasons_supported(const char* name, nvmlDevice_t device, unsigned long long* reasons) {
  return on_board(name, device, [&](Machine&, int) { return put(reasons, kReasonIdle | kReasonPowerCap); });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return reading(__func__, device, [&](Machine& m, int gpu, const Reading& r) {
    if (unsigned(type) >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return put(clock, clock_now(m.board(gpu).clocks(), type, r.busy));
  });
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return fixed_clock(__func__, device, type, Fixed::kMost, clock);
}
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return fixed_clock(__func__, device, type, Fixed::kMost, clock);
}
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return fixed_clock(__func__, device, type, Fixed::kApplications, clock);
}
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock) {
  return fixed_clock(__func__, device, type, Fixed::kApplications, clock);
}
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned int* clock) {
  switch (id) {
    case NVML_CLOCK_ID_CURRENT:
      return nvmlDeviceGetClockInfo(device, type, clock);
    case NVML_CLOCK_ID_APP_CLOCK_TARGET:
    case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
      return fixed_clock(__func__, device, type, Fixed::kApplications, clock);
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
      return fixed_clock(__func__, device, type, Fixed::kMost, clock);
  }
  return machine() ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int* count, unsigned int* clocks) {
  return on_board(__func__, device,
                  [&](Machine& m, int gpu) { return put_list({m.board(gpu).clocks().memory}, count, clocks); });
}
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory_clock, unsigned int* count,
                                                  unsigned int* clocks) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    const Board::Clocks of = m.board(gpu).clocks();
    if (memory_clock != of.memory) return count ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
    std::vector<unsigned> all;
    for (unsigned mhz = of.sm_max; mhz >= of.sm_idle; mhz -= kGraphicsStepMhz) all.push_back(mhz);
    return put_list(all, count, clocks);
  });
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
  return performance_state(__func__, device, state);
}
nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* state) {
  return performance_state(__func__, device, state);
}

// "Throttle" is the older name of these two.
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return reasons_now(__func__, device, reasons);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return reasons_now(__func__, device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return reasons_supported(__func__, device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return reasons_supported(__func__, device, reasons);
}
