// Recent samples of power, utilisation and clocks. One sample is kept: the reading of this instant.
#include "nvml_reading.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

// NOT_SUPPORTED for what is not known of a board in this mode.
nvmlReturn_t sample_value(const Board& board, const Reading& r, nvmlSamplingType_t type, unsigned& value) {
  switch (type) {
    case NVML_TOTAL_POWER_SAMPLES:
      return value = milliwatts(r.watts), NVML_SUCCESS;
    case NVML_GPU_UTILIZATION_SAMPLES:
      return value = r.busy ? 100 : 0, r.mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    case NVML_MEMORY_UTILIZATION_SAMPLES:
      return value = r.busy ? 50 : 0, r.mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    case NVML_ENC_UTILIZATION_SAMPLES:
    case NVML_DEC_UTILIZATION_SAMPLES:
      return value = 0, r.mig ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    case NVML_PROCESSOR_CLK_SAMPLES:
      return value = r.busy ? board.clocks().sm_max : board.clocks().sm_idle, NVML_SUCCESS;
    case NVML_MEMORY_CLK_SAMPLES:
      return value = board.clocks().memory, NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long last_seen,
                                  nvmlValueType_t* value_type, unsigned int* count, nvmlSample_t* samples) {
  return reading(__func__, device, [&](Machine& m, int gpu, const Reading& r) {
    if (!value_type || !count) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned value = 0;
    const nvmlReturn_t status = sample_value(m.board(gpu), r, type, value);
    if (status != NVML_SUCCESS) return status;
    const unsigned long long now = unix_us();
    if (now <= last_seen) return NVML_ERROR_NOT_FOUND;
    const unsigned room = *count;
    *count = 1;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (!samples) return NVML_SUCCESS;  // who asks without a buffer learns how large one to bring
    if (room == 0) return NVML_ERROR_INSUFFICIENT_SIZE;
    samples->timeStamp = now;
    samples->sampleValue.ullVal = value;
    return NVML_SUCCESS;
  });
}
