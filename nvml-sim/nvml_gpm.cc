// GPU performance monitoring: SM utilisation of a board or of one GPU instance, on Hopper and later as on real boards.
// A sample remembers how busy its subject was; a metric is the mean of the two samples it is asked of.
#include <map>
#include <mutex>

#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

struct GpmSample {
  bool taken = false;
  int gpu = -1;
  unsigned gpu_instance = NVML_NO_INSTANCE_ID;
  double sm_percent = 0;
};

// Samples by their handle, a number and never an address: an invalid handle is recognised.
struct GpmSamples {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::map<std::uint64_t, GpmSample> known;
};
GpmSamples& gpm_samples() {
  static GpmSamples all;
  return all;
}
template <class F>
nvmlReturn_t with_sample(nvmlGpmSample_t handle, F&& f) {
  GpmSamples& all = gpm_samples();
  const std::lock_guard lock(all.mutex);
  const auto found = all.known.find(reinterpret_cast<std::uint64_t>(handle));
  return found == all.known.end() ? NVML_ERROR_INVALID_ARGUMENT : f(found->second);
}

bool has_gpm(const Board& board) { return !board.ampere(); }

bool any_active(const State& state, int gpu, std::uint64_t compute_instance) {
  for (const Process& process : state.processes)
    if (process.owner.pid != 0 && process.active && process.gpu == gpu && process.compute_instance == compute_instance)
      return true;
  return false;
}

// Percent of the SMs of a GPU instance (nullptr: of the board) on which something runs.
double sm_percent(const Machine& m, const State& state, int gpu, const GpuInstance* gi) {
  if (!gi && any_active(state, gpu, 0)) return 100;
  double busy = 0;
  for (const ComputeInstance& ci : state.gpus[gpu].compute_instances)
    if (ci.generation != 0 && (!gi || ci.gpu_instance == gi->generation) && any_active(state, gpu, ci.generation))
      busy += ci.sms;
  return 100 * busy / std::max(1u, gi ? m.board(gpu).sms(gi->profile) : m.board(gpu).sms());
}

// `find(state)` gives the GPU instance, or nullptr for the board; `exists` is false where there is no such instance.
template <class Find>
nvmlReturn_t take_sample(Machine& m, int gpu, nvmlGpmSample_t handle, Find&& find) {
  if (!has_gpm(m.board(gpu))) return NVML_ERROR_NOT_SUPPORTED;
  m.refresh();
  GpmSample taken{true, gpu, NVML_NO_INSTANCE_ID, 0};
  bool exists = true;
  m.read([&](const State& state) {
    const GpuInstance* gi = find(state, exists);
    if (!exists) return;
    if (gi) taken.gpu_instance = gi->id;
    taken.sm_percent = sm_percent(m, state, gpu, gi);
  });
  if (!exists) return NVML_ERROR_INVALID_ARGUMENT;
  return with_sample(handle, [&](GpmSample& sample) { return sample = taken, NVML_SUCCESS; });
}

void fill_metric(nvmlGpmMetric_t& metric, double sm) {
  metric.nvmlReturn = NVML_SUCCESS;
  switch (metric.metricId) {
    case NVML_GPM_METRIC_GRAPHICS_UTIL:
      metric.value = sm;
      metric.metricInfo = {"GRACT", "Graphics Engine Active", "%"};
      return;
    case NVML_GPM_METRIC_SM_UTIL:
      metric.value = sm;
      metric.metricInfo = {"SMACT", "SM Active", "%"};
      return;
    case NVML_GPM_METRIC_DRAM_BW_UTIL:  // half of the time, as nvmlDeviceGetUtilizationRates says outside MIG
      metric.value = sm / 2;
      metric.metricInfo = {"DRAMA", "DRAM Active", "%"};
      return;
    default:
      metric.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      metric.value = 0;
      metric.metricInfo = {};
  }
}

}  // namespace

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    if (!support) return NVML_ERROR_INVALID_ARGUMENT;
    if (support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = has_gpm(m.board(h.gpu));
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  return on_machine(__func__, [&](Machine&) {
    if (!sample) return NVML_ERROR_INVALID_ARGUMENT;
    GpmSamples& all = gpm_samples();
    const std::lock_guard lock(all.mutex);
    all.known[++all.last];
    *sample = reinterpret_cast<nvmlGpmSample_t>(all.last);
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  return on_machine(__func__, [&](Machine&) {
    GpmSamples& all = gpm_samples();
    const std::lock_guard lock(all.mutex);
    return all.known.erase(reinterpret_cast<std::uint64_t>(sample)) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  });
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
  return on_device(__func__, device, [&](Machine& m, const Handle& h) {
    return take_sample(m, h.gpu, sample, [&](const State& state, bool& exists) -> const GpuInstance* {
      if (h.kind == Kind::kBoard) return nullptr;
      const auto* ci = find_compute_instance(state, h.gpu, h.generation);
      exists = ci != nullptr;
      return ci ? find_gpu_instance(state, h.gpu, ci->gpu_instance) : nullptr;
    });
  });
}
nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpu_instance, nvmlGpmSample_t sample) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    return take_sample(m, gpu, sample, [&](const State& state, bool& exists) -> const GpuInstance* {
      for (const GpuInstance& gi : state.gpus[gpu].gpu_instances)
        if (gi.generation != 0 && gi.id == gpu_instance) return &gi;
      exists = false;
      return nullptr;
    });
  });
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* metrics) {
  return on_machine(__func__, [&](Machine&) {
    if (!metrics) return NVML_ERROR_INVALID_ARGUMENT;
    if (metrics->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (metrics->numMetrics == 0 || metrics->numMetrics > NVML_GPM_METRIC_MAX) return NVML_ERROR_INVALID_ARGUMENT;
    GpmSample first, second;
    const auto copy = [](GpmSample& to) { return [&to](GpmSample& from) { return to = from, NVML_SUCCESS; }; };
    if (const nvmlReturn_t status = with_sample(metrics->sample1, copy(first)); status != NVML_SUCCESS) return status;
    if (const nvmlReturn_t status = with_sample(metrics->sample2, copy(second)); status != NVML_SUCCESS) return status;
    const bool same = first.gpu == second.gpu && first.gpu_instance == second.gpu_instance;
    if (!first.taken || !second.taken || !same) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlGpmMetric_t* const asked = &metrics->metrics[0];  // more than 98 in newer clients' structs
    for (unsigned i = 0; i < metrics->numMetrics; ++i)
      fill_metric(asked[i], (first.sm_percent + second.sm_percent) / 2);
    return NVML_SUCCESS;
  });
}
