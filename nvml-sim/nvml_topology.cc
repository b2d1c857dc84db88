// Where the boards are: one NUMA node with all processors of the host, each board on a PCI bus of its own.
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "nvml_shared.h"

using namespace smartmig;
using namespace smartmig::nvsim;

namespace {

constexpr unsigned kWordBits = sizeof(unsigned long) * CHAR_BIT;

// The lowest `bits` bits of a set of `words` words.
nvmlReturn_t put_set(unsigned bits, unsigned words, unsigned long* out) {
  if (!out || words == 0) return NVML_ERROR_INVALID_ARGUMENT;
  std::fill(out, out + words, 0ul);
  for (unsigned bit = 0; bit < std::min(bits, words * kWordBits); ++bit) out[bit / kWordBits] |= 1ul << bit % kWordBits;
  return NVML_SUCCESS;
}

nvmlReturn_t cpu_affinity(const char* name, nvmlDevice_t device, unsigned words, unsigned long* cpus) {
  return on_board(name, device,
                  [&](Machine&, int) { return put_set(unsigned(::sysconf(_SC_NPROCESSORS_CONF)), words, cpus); });
}

// All boards but one. As NVML: without room for a list, only the count.
nvmlReturn_t put_boards(const Machine& m, int without, unsigned* count, nvmlDevice_t* devices) {
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned room = *count;
  *count = unsigned(m.gpu_count()) - (without >= 0 ? 1u : 0u);
  if (!devices || room == 0) return NVML_SUCCESS;
  if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (int gpu = 0; gpu < m.gpu_count(); ++gpu)
    if (gpu != without) *devices++ = board_handle(gpu);
  return NVML_SUCCESS;
}

template <class F>
nvmlReturn_t on_two_boards(const char* name, nvmlDevice_t one, nvmlDevice_t other, F&& f) {
  return on_board(name, one, [&](Machine&, int first) {
    return on_board(name, other, [&](Machine&, int second) { return f(first, second); });
  });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long* cpus) {
  return cpu_affinity(__func__, device, words, cpus);
}
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long* cpus,
                                                 nvmlAffinityScope_t scope) {
  if (machine() && scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
  return cpu_affinity(__func__, device, words, cpus);
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long* nodes,
                                         nvmlAffinityScope_t scope) {
  return on_board(__func__, device, [&](Machine&, int) {
    return scope > NVML_AFFINITY_SCOPE_SOCKET ? NVML_ERROR_INVALID_ARGUMENT : put_set(1, words, nodes);
  });
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t* level) {
  return on_two_boards(__func__, one, other, [&](int first, int second) {
    return put(level, first == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE);
  });
}
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int* count,
                                              nvmlDevice_t* devices) {
  return on_board(__func__, device, [&](Machine& m, int gpu) {
    if (level >= NVML_TOPOLOGY_NODE) return put_boards(m, gpu, count, devices);
    return put(count, 0u);
  });
}
nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int* count, nvmlDevice_t* devices) {
  return on_machine(__func__, [&](Machine& m) {
    if (cpu >= unsigned(::sysconf(_SC_NPROCESSORS_CONF))) return NVML_ERROR_INVALID_ARGUMENT;
    return put_boards(m, -1, count, devices);
  });
}
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t one, nvmlDevice_t other, int* same) {
  return on_two_boards(__func__, one, other, [&](int first, int second) { return put(same, int(first == second)); });
}
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int* several) {
  return on_board(__func__, device, [&](Machine&, int) { return put(several, 0u); });
}
