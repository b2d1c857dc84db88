// The watching half of NvmlDriver: lost boards, Xids, memory errors.
#include <algorithm>

#include "live/gpu/nvml_driver.h"

namespace smartmig {
namespace {

// Xids that tell of a program's own mistake, or of its end; NVIDIA's Kubernetes device plugin passes over the same.
constexpr unsigned long long kOfPrograms[] = {13, 31, 43, 45, 68, 109};

struct Meaning {
  unsigned long long xid;
  std::string_view words;
};
constexpr Meaning kMeanings[] = {{48, "a memory error that could not be corrected"},
                                 {62, "the board's microcontroller halted"},
                                 {63, "a memory row is being retired"},
                                 {64, "retiring a memory row failed"},
                                 {74, "an NVLink error"},
                                 {79, "the GPU has fallen off the bus"},
                                 {92, "too many corrected memory errors"},
                                 {94, "a memory error that hit one program"},
                                 {95, "a memory error that may have hit any program"},
                                 {119, "the GPU's system processor does not answer"},
                                 {120, "the GPU's system processor failed"}};

std::string xid_words(unsigned long long xid) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.xid == xid) return fmt::format("Xid {} ({})", xid, meaning.words);
  return fmt::format("Xid {}", xid);
}

}  // namespace

NvmlDriver::~NvmlDriver() {
  for (Gpu& gpu : gpus_)
    if (gpu.events) nvml_->nvmlEventSetFree(gpu.events);
}

void NvmlDriver::watch(Gpu& gpu) {
  if (!gpu.handle) return;
  if (nvml_->nvmlDeviceGetTotalEccErrors)
    nvml_->nvmlDeviceGetTotalEccErrors(gpu.handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                       &gpu.memory_errors);
  if (!options_.control || !nvml_->nvmlEventSetCreate || !nvml_->nvmlDeviceRegisterEvents ||
      !nvml_->nvmlEventSetWait_v2 || !nvml_->nvmlEventSetFree)
    return;
  if (nvml_->nvmlEventSetCreate(&gpu.events) != NVML_SUCCESS) {
    gpu.events = nullptr;
  } else if (nvml_->nvmlDeviceRegisterEvents(gpu.handle, nvmlEventTypeXidCriticalError, gpu.events) != NVML_SUCCESS) {
    nvml_->nvmlEventSetFree(gpu.events);
    gpu.events = nullptr;
  }
}

std::string NvmlDriver::news(Gpu& gpu) {
  std::vector<std::string> bad;
  constexpr int kMostEvents = 256;  // a board that sends without end must not hold its lane
  nvmlEventData_t event{};
  for (int i = 0; i < kMostEvents && gpu.events; ++i) {
    if (nvml_->nvmlEventSetWait_v2(gpu.events, &event, 0) != NVML_SUCCESS) break;
    const auto xid = event.eventData;
    if (std::find(std::begin(kOfPrograms), std::end(kOfPrograms), xid) != std::end(kOfPrograms)) continue;
    if (std::string words = xid_words(xid); std::find(bad.begin(), bad.end(), words) == bad.end())
      bad.push_back(std::move(words));
  }
  unsigned long long errors = 0;
  if (nvml_->nvmlDeviceGetTotalEccErrors &&
      nvml_->nvmlDeviceGetTotalEccErrors(gpu.handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors) ==
          NVML_SUCCESS) {
    if (errors > gpu.memory_errors)
      bad.push_back(fmt::format("{} memory error{} that ECC could not correct", errors - gpu.memory_errors,
                                errors - gpu.memory_errors == 1 ? "" : "s"));
    gpu.memory_errors = errors;
  }
  return fmt::format("{}", fmt::join(bad, ", "));
}

Result<Ok> NvmlDriver::health(GpuId id) {
  SMARTMIG_TRY(Gpu* const gpu, reach(id));
  const std::string bad = news(*gpu);
  const auto board = read(id);
  if (!board) return Error{board.error().code, bad.empty() ? board.error().what : board.error().what + "; " + bad};
  if (!bad.empty()) return lost_error("{}: {}; see the kernel log, and reset the GPU", title(*board), bad);
  if (!board->trouble.empty()) return invalid("{}: {}", title(*board), board->trouble);
  return Ok{};
}

}  // namespace smartmig
