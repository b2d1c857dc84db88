// Event sets. The machine keeps the last events in a ring; a set remembers how far it has read.
#include <chrono>
#include <map>
#include <mutex>
#include <new>

#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

struct Set {
  std::uint64_t seen = 0;
  unsigned long long types[kMaxGpus] = {};
};
std::mutex sets_mutex;
std::map<std::uint64_t, Set>& sets() {
  using Sets = std::map<std::uint64_t, Set>;  // not destroyed, as the session
  alignas(Sets) static char place[sizeof(Sets)];
  static Sets* const only = new (place) Sets;
  return *only;
}
std::uint64_t next_set = 1;

std::uint64_t key_of(nvmlEventSet_t set) { return reinterpret_cast<std::uint64_t>(set); }
constexpr unsigned long long kSupported = nvmlEventTypeXidCriticalError | nvmlEventMigConfigChange;

// The next event this set asked for; false if there is none, or no such set (`known`).
bool next_event(Machine& m, nvmlEventSet_t set, nvmlEventData_t& data, bool& known) {
  bool found = false;
  m.read([&](const State& state) {
    const std::lock_guard lock(sets_mutex);
    const auto entry = sets().find(key_of(set));
    known = entry != sets().end();
    if (!known) return;
    Set& mine = entry->second;
    if (state.events_sent > kMaxEvents) mine.seen = std::max(mine.seen, state.events_sent - kMaxEvents);
    while (!found && mine.seen < state.events_sent) {
      const Event& event = state.events[mine.seen++ % kMaxEvents];
      if ((mine.types[event.gpu] & event.type) == 0) continue;
      data = {board_handle(event.gpu), event.type, event.data, event.gpu_instance, event.compute_instance};
      found = true;
    }
  });
  return found;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* types) {
  return on_board(__func__, device, [&](Machine&, int) { return put(types, kSupported); });
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  return on_machine(__func__, [&](Machine& m) {
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    Set fresh;
    m.read([&](const State& state) { fresh.seen = state.events_sent; });
    const std::lock_guard lock(sets_mutex);
    sets()[next_set] = fresh;
    *set = reinterpret_cast<nvmlEventSet_t>(next_set++);
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  return on_board(__func__, device, [&](Machine&, int gpu) {
    if ((types & ~kSupported) != 0) return NVML_ERROR_NOT_SUPPORTED;
    const std::lock_guard lock(sets_mutex);
    const auto entry = sets().find(key_of(set));
    if (entry == sets().end()) return NVML_ERROR_INVALID_ARGUMENT;
    entry->second.types[gpu] |= types;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
  const auto m = machine();
  if (!m) return NVML_ERROR_UNINITIALIZED;
  if (!data) return NVML_ERROR_INVALID_ARGUMENT;
  const std::uint64_t deadline = host_now_us() + std::uint64_t(timeout_ms) * 1000;
  for (;;) {
    const std::uint32_t bell = m->store().bell();
    bool known = true;
    if (next_event(*m, set, *data, known)) return NVML_SUCCESS;
    if (!known) return NVML_ERROR_INVALID_ARGUMENT;
    const std::uint64_t now = host_now_us();
    if (now >= deadline) return NVML_ERROR_TIMEOUT;
    m->store().wait(bell, deadline - now);
  }
}
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_v1_t* data, unsigned int timeout_ms) {
  nvmlEventData_t full{};
  const nvmlReturn_t status = nvmlEventSetWait_v2(set, data ? &full : nullptr, timeout_ms);
  if (status == NVML_SUCCESS) *data = {full.device, full.eventType, full.eventData};
  return status;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  return on_machine(__func__, [&](Machine&) {
    const std::lock_guard lock(sets_mutex);
    return sets().erase(key_of(set)) > 0 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  });
}
