// Readings: memory, power, energy, temperature, utilisation, fields.
#include <algorithm>

#include "nvml_reading.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr unsigned long long kMib = 1ull << 20;

struct Memory {
  unsigned long long total = 0, used = 0;
};
nvmlReturn_t read_memory(Machine& m, const Handle& h, Memory& out) {
  m.refresh();
  nvmlReturn_t status = NVML_SUCCESS;
  m.read([&](const State& state) {
    if (h.kind == Kind::kMigDevice) {
      const auto* ci = find_compute_instance(state, h.gpu, h.generation);
      const auto* gi = ci ? find_gpu_instance(state, h.gpu, ci->gpu_instance) : nullptr;
      if (!gi) {
        status = NVML_ERROR_INVALID_ARGUMENT;
        return;
      }
      out = {m.board(h.gpu).memory_mib(gi->profile) * kMib, m.memory_used(state, h.gpu, gi)};
    } else if (state.gpus[h.gpu].mig_current && !m.privileged()) {
      status = NVML_ERROR_NO_PERMISSION;
    } else {
      out = {m.board(h.gpu).memory_mib() * kMib, m.memory_used(state, h.gpu, nullptr)};
    }
  });
  return status;
}

}  // namespace

Reading smartmig::nvsim::read_board(Machine& m, int gpu) {
  m.refresh();
  Reading out;
  m.read([&](const State& state) {
    const Gpu& board = state.gpus[gpu];
    out = {board.watts, m.energy_uj(state, gpu), board.mig_current != 0, false, board.limit_mw};
    for (const Process& process : state.processes)
      out.busy |= process.owner.pid != 0 && process.gpu == gpu && process.active;
  });
  return out;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    Memory read;
    const nvmlReturn_t status = read_memory(m, h, read);
    if (status == NVML_SUCCESS) *memory = {read.total, read.total - std::min(read.total, read.used), read.used};
    return status;
  });
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    if (!memory) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    Memory read;
    const nvmlReturn_t status = read_memory(m, h, read);
    if (status == NVML_SUCCESS)
      *memory = {nvmlMemory_v2, read.total, 0, read.total - std::min(read.total, read.used), read.used};
    return status;
  });
}
// The power of two that holds the board's memory; a MIG device has its memory slices' part of it.
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    const Board& board = m.board(h.gpu);
    unsigned long long size = kMib;
    while (size < board.memory_mib() * kMib) size *= 2;
    m.read([&](const State& state) {
      const auto* ci = find_compute_instance(state, h.gpu, h.generation);
      const auto* gi = ci ? find_gpu_instance(state, h.gpu, ci->gpu_instance) : nullptr;
      if (gi)
        size = size / unsigned(board.model().memory_slices()) * unsigned(board.profile(gi->profile).memory_slices);
    });
    return put(memory, nvmlBAR1Memory_t{size, size - kMib, kMib});
  });
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return reading(__func__, device, [&](Machine&, int, const Reading& r) {
    return r.mig ? NVML_ERROR_NOT_SUPPORTED
                 : put(utilization, nvmlUtilization_t{r.busy ? 100u : 0u, r.busy ? 50u : 0u});
  });
}
static nvmlReturn_t media(const char* name, nvmlDevice_t device, unsigned* utilization, unsigned* period_us) {
  return reading(name, device, [&](Machine&, int, const Reading& r) {
    if (r.mig) return NVML_ERROR_NOT_SUPPORTED;
    const nvmlReturn_t status = put(utilization, 0u);
    return status == NVML_SUCCESS ? put(period_us, 167000u) : status;
  });
}
nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return media(__func__, device, utilization, period_us);
}
nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return media(__func__, device, utilization, period_us);
}

nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return media(__func__, device, utilization, period_us);
}
nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us) {
  return media(__func__, device, utilization, period_us);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* power) {
  return reading(__func__, device, [&](Machine&, int, const Reading& r) { return put(power, milliwatts(r.watts)); });
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* energy) {
  return reading(__func__, device, [&](Machine&, int, const Reading& r) {
    return put(energy, static_cast<unsigned long long>(r.energy_uj / 1000));
  });
}
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return on_board(__func__, device, [&](Machine&, int) { return put(mode, NVML_FEATURE_ENABLED); });
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* limit) {
  return reading(__func__, device, [&](Machine&, int, const Reading& r) { return put(limit, r.limit_mw); });
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* limit) {
  return reading(__func__, device, [&](Machine&, int, const Reading& r) { return put(limit, r.limit_mw); });
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned int* limit) {
  return on_board(__func__, device,
                  [&](Machine& m, int gpu) { return put(limit, milliwatts(m.board(gpu).limit_watts())); });
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int* least,
                                                          unsigned int* most) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    const nvmlReturn_t status = put(least, milliwatts(m.board(gpu).power().idle()));
    return status == NVML_SUCCESS ? put(most, milliwatts(m.board(gpu).limit_watts())) : status;
  });
}
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int limit) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (!m.privileged()) return NVML_ERROR_NO_PERMISSION;
    const PowerModel& power = m.board(gpu).power();
    if (limit < milliwatts(power.idle()) || limit > milliwatts(m.board(gpu).limit_watts()))
      return NVML_ERROR_INVALID_ARGUMENT;
    m.change([&](State& state) {
      state.gpus[gpu].limit_mw = limit;
      return true;
    });
    return NVML_SUCCESS;
  });
}

// Degrees follow the watts: 30 C idle to 75 C at the limit.
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int* celsius) {
  return reading(__func__, device, [&](Machine& m, int gpu, const Reading& r) {
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    const PowerModel& power = m.board(gpu).power();
    const double load = (r.watts - power.idle()) / std::max(1.0, power.cap() - power.idle());
    return put(celsius, unsigned(30 + 45 * std::clamp(load, 0.0, 1.0)));
  });
}
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t threshold,
                                               unsigned int* celsius) {
  return on_board(__func__, device, [&](Machine&, int) {
    static constexpr unsigned kCelsius[] = {92, 89, 95, 85};
    return unsigned(threshold) < std::size(kCelsius) ? put(celsius, kCelsius[threshold]) : NVML_ERROR_NOT_SUPPORTED;
  });
}
// Boards for servers are cooled by the chassis.
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int*) {
  return on_board(__func__, device, [](Machine&, int) { return NVML_ERROR_NOT_SUPPORTED; });
}
nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int, unsigned int*) {
  return on_board(__func__, device, [](Machine&, int) { return NVML_ERROR_NOT_SUPPORTED; });
}
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int* fans) {
  return on_board(__func__, device, [&](Machine&, int) { return put(fans, 0u); });
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  return reading(__func__, device, [&](Machine& m, int gpu, const Reading& r) {
    if (!values || count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
    const Board& board = m.board(gpu);
    for (nvmlFieldValue_t* field = values; field != values + count; ++field) {
      field->timestamp = static_cast<long long>(unix_us());
      field->latencyUsec = 0;
      field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      field->nvmlReturn = NVML_SUCCESS;
      field->value.ullVal = 0;
      switch (field->fieldId) {
        case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
          field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
          field->value.ullVal = r.energy_uj / 1000;
          break;
        case NVML_FI_DEV_POWER_AVERAGE:
        case NVML_FI_DEV_POWER_INSTANT:
          field->value.uiVal = milliwatts(r.watts);
          break;
        case NVML_FI_DEV_POWER_MIN_LIMIT:
          field->value.uiVal = milliwatts(board.power().idle());
          break;
        case NVML_FI_DEV_POWER_MAX_LIMIT:
        case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
          field->value.uiVal = milliwatts(board.limit_watts());
          break;
        case NVML_FI_DEV_POWER_CURRENT_LIMIT:
          field->value.uiVal = r.limit_mw;
          break;
        case NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED:
          field->value.uiVal = !board.ampere();
          break;
        case NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE:
          field->value.uiVal = 1;
          break;
        case NVML_FI_DEV_NVLINK_LINK_COUNT:
          field->value.uiVal = 0;
          break;
        default:
          field->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      }
    }
    return NVML_SUCCESS;
  });
}
