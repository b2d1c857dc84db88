/* Asks NVML what four well-known clients ask, in their order, and judges the answers as they do:
 *   nvml_client_sequences nvitop|hwloc|go-nvml|slurm [MIG_MINORS]
 * Linked with the library like hwloc's plugin and Slurm's, so that names are bound when they are first called.
 * MIG_MINORS is read where Slurm reads /proc/driver/nvidia-caps/mig-minors.
 * Sources, for the order of calls: XuehaiPan/nvitop nvitop/api/device.py, open-mpi/hwloc hwloc/topology-nvml.c,
 * NVIDIA/go-nvml examples/ and pkg/nvml, SchedMD/slurm src/plugins/gpu/nvml/gpu_nvml.c.
 * Prints what it found; a line that begins with "wrong:" for each answer that would stop the client or mislead it, and
 * exits 1 where there is one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml_abi.h"

/* Of these the emulation knows the names alone. */
extern nvmlReturn_t nvmlDeviceGetDriverModel(nvmlDevice_t, unsigned*, unsigned*);
extern nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned, nvmlPciInfo_t*);
extern nvmlReturn_t nvmlDeviceSetApplicationsClocks(nvmlDevice_t, unsigned, unsigned);
extern nvmlReturn_t nvmlDeviceResetApplicationsClocks(nvmlDevice_t);

enum { kLinks = 18, kClocks = 512, kCpuWords = 0x8000 / 64 };

static int wrong;
static void complain(const char* call, const char* what) {
  printf("wrong: %s: %s\n", call, what);
  ++wrong;
}
static nvmlReturn_t must(const char* call, nvmlReturn_t answer) {
  if (answer != NVML_SUCCESS) complain(call, nvmlErrorString(answer));
  return answer;
}
/* What a client shows as "N/A". */
static nvmlReturn_t may(const char* call, nvmlReturn_t answer) {
  if (answer != NVML_SUCCESS && answer != NVML_ERROR_NOT_SUPPORTED) complain(call, nvmlErrorString(answer));
  return answer;
}
#define MUST(call) must(#call, call)
#define MAY(call) may(#call, call)
static void expect(int holds, const char* what) {
  if (!holds) complain(what, "does not hold");
}
#define EXPECT(condition) expect(condition, #condition)

static nvmlDevice_t board(unsigned index) {
  nvmlDevice_t device = NULL;
  MUST(nvmlDeviceGetHandleByIndex_v2(index, &device));
  return device;
}
static unsigned boards(void) {
  unsigned count = 0;
  MUST(nvmlDeviceGetCount_v2(&count));
  EXPECT(count > 0);
  return count;
}

/* ---- hwloc */
static void hwloc(void) {
  MUST(nvmlInit_v2());
  const unsigned count = boards();
  for (unsigned i = 0; i < count; ++i) {
    char text[64] = "";
    nvmlPciInfo_t pci;
    unsigned width = 0, generation = 0;
    nvmlDevice_t device = board(i);
    MUST(nvmlDeviceGetName(device, text, sizeof text));
    printf("nvml%u %s", i, text);
    MAY(nvmlDeviceGetSerial(device, text, sizeof text));
    MAY(nvmlDeviceGetUUID(device, text, sizeof text));
    EXPECT(!strncmp(text, "GPU-", 4));
    MUST(nvmlDeviceGetPciInfo_v3(device, &pci));
    MUST(nvmlDeviceGetMaxPcieLinkWidth(device, &width));
    MUST(nvmlDeviceGetMaxPcieLinkGeneration(device, &generation));
    printf(" at %04x:%02x:%02x, PCIe %u x%u\n", pci.domain, pci.bus, pci.device, generation, width);
  }
  for (unsigned i = 0; i < count; ++i)
    for (unsigned link = 0; link < kLinks; ++link) {
      nvmlEnableState_t active = NVML_FEATURE_DISABLED;
      nvmlPciInfo_t peer;
      if (nvmlDeviceGetNvLinkState(board(i), link, &active) != NVML_SUCCESS) break;
      if (active == NVML_FEATURE_ENABLED) MAY(nvmlDeviceGetNvLinkRemotePciInfo_v2(board(i), link, &peer));
    }
  MUST(nvmlShutdown());
}

/* ---- go-nvml: devices, compute-processes, frequency-probe, gpm-metrics */
static void go_processes(nvmlDevice_t device) {
  nvmlProcessInfo_t* infos = NULL;
  nvmlReturn_t answer = NVML_ERROR_INSUFFICIENT_SIZE;
  unsigned count = 0;
  for (unsigned room = 1; answer == NVML_ERROR_INSUFFICIENT_SIZE; room = 2 * count) {
    infos = realloc(infos, room * sizeof *infos);
    count = room;
    answer = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos);
  }
  must("nvmlDeviceGetComputeRunningProcesses_v3", answer);
  printf("%u processes\n", count);
  free(infos);
}
static void go_clocks(nvmlDevice_t device) {
  unsigned memory[kClocks], graphics[kClocks], memories = 1, graphical, now = 0;
  while (nvmlDeviceGetSupportedMemoryClocks(device, &memories, memory) == NVML_ERROR_INSUFFICIENT_SIZE) memories *= 2;
  EXPECT(memories > 0 && memories <= kClocks);
  for (unsigned i = 0; i < memories && i < kClocks; ++i) {
    nvmlReturn_t answer = NVML_ERROR_INSUFFICIENT_SIZE;
    for (graphical = 1; answer == NVML_ERROR_INSUFFICIENT_SIZE && graphical <= kClocks; graphical *= 2)
      if ((answer = nvmlDeviceGetSupportedGraphicsClocks(device, memory[i], &graphical, graphics)) == NVML_SUCCESS)
        break;
    must("nvmlDeviceGetSupportedGraphicsClocks", answer);
    printf("%u MHz: %u graphics clocks\n", memory[i], graphical);
  }
  MUST(nvmlDeviceGetClockInfo(device, NVML_CLOCK_GRAPHICS, &now));
  MUST(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &now));
}
static void go_metrics(nvmlDevice_t device) {
  nvmlGpmSupport_t support = {NVML_GPM_SUPPORT_VERSION, 0};
  nvmlGpmMetricsGet_t get = {0};
  if (MUST(nvmlGpmQueryDeviceSupport(device, &support)) != NVML_SUCCESS || !support.isSupportedDevice) {
    printf("no GPM\n");
    return;
  }
  get.version = NVML_GPM_METRICS_GET_VERSION;
  get.numMetrics = 1;
  get.metrics[0].metricId = NVML_GPM_METRIC_GRAPHICS_UTIL;
  MUST(nvmlGpmSampleAlloc(&get.sample1));
  MUST(nvmlGpmSampleAlloc(&get.sample2));
  MUST(nvmlGpmSampleGet(device, get.sample1));
  MUST(nvmlGpmSampleGet(device, get.sample2));
  MUST(nvmlGpmMetricsGet(&get));
  must("GPM_METRIC_GRAPHICS_UTIL", get.metrics[0].nvmlReturn);
  printf("graphics %.0f %%\n", get.metrics[0].value);
  MUST(nvmlGpmSampleFree(get.sample2));
  MUST(nvmlGpmSampleFree(get.sample1));
}
static void go_nvml(void) {
  MUST(nvmlInit_v2());
  const unsigned count = boards();
  for (unsigned i = 0; i < count; ++i) {
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    MUST(nvmlDeviceGetUUID(board(i), uuid, sizeof uuid));
    printf("%s\n", uuid);
    go_processes(board(i));
    go_clocks(board(i));
    go_metrics(board(i));
  }
  MUST(nvmlShutdown());
}

/* ---- Slurm */
static int slurm_minor(const char* minors, const char* wanted) {
  FILE* file = fopen(minors, "r");
  char name[128];
  unsigned value, found = 0;
  if (!file) return 0;
  while (!found && fscanf(file, "%127s%u", name, &value) == 2)
    if (!strcmp(name, wanted)) found = value;
  fclose(file);
  return (int)found;
}
static void slurm_mig(nvmlDevice_t device, unsigned gpu, unsigned index, const char* minors) {
  nvmlDevice_t mig = NULL;
  nvmlDeviceAttributes_t attributes;
  char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "", name[128];
  unsigned gi = 0, ci = 0;
  if (MUST(nvmlDeviceGetMigDeviceHandleByIndex(device, index, &mig)) != NVML_SUCCESS) return;
  MUST(nvmlDeviceGetUUID(mig, uuid, sizeof uuid));
  MUST(nvmlDeviceGetGpuInstanceId(mig, &gi));
  MUST(nvmlDeviceGetComputeInstanceId(mig, &ci));
  MUST(nvmlDeviceGetAttributes_v2(mig, &attributes));
  snprintf(name, sizeof name, "gpu%u/gi%u/access", gpu, gi);
  const int gi_minor = slurm_minor(minors, name);
  snprintf(name, sizeof name, "gpu%u/gi%u/ci%u/access", gpu, gi, ci);
  const int ci_minor = slurm_minor(minors, name);
  EXPECT(gi_minor > 0 && ci_minor > 0);
  printf("  %ug.%llugb /dev/nvidia-caps/nvidia-cap%d,/dev/nvidia-caps/nvidia-cap%d\n", attributes.gpuInstanceSliceCount,
         (attributes.memorySizeMB + 512) / 1024, gi_minor, ci_minor);
}
static void slurm_clocks(nvmlDevice_t device) {
  unsigned memory[kClocks] = {0}, graphics[kClocks] = {0}, memories = kClocks, graphical = kClocks, now = 0;
  MUST(nvmlDeviceGetSupportedMemoryClocks(device, &memories, memory));
  MUST(nvmlDeviceGetSupportedGraphicsClocks(device, memory[0], &graphical, graphics));
  EXPECT(graphical > 1 && graphics[0] > graphics[graphical - 1]);
  MUST(nvmlDeviceGetApplicationsClock(device, NVML_CLOCK_MEM, &now));
  MUST(nvmlDeviceGetApplicationsClock(device, NVML_CLOCK_GRAPHICS, &now));
  MAY(nvmlDeviceSetApplicationsClocks(device, memory[0], graphics[0]));
  MAY(nvmlDeviceResetApplicationsClocks(device));
}
static void slurm(const char* minors) {
  char text[80];
  nvmlPciInfo_t pci;
  MUST(nvmlInit_v2());
  MUST(nvmlSystemGetDriverVersion(text, sizeof text));
  MUST(nvmlSystemGetNVMLVersion(text, sizeof text));
  const unsigned count = boards();
  for (unsigned i = 0; i < count; ++i) MUST(nvmlDeviceGetPciInfo_v3(board(i), &pci));
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = board(i);
    char name[NVML_DEVICE_NAME_BUFFER_SIZE] = "", uuid[NVML_DEVICE_UUID_BUFFER_SIZE] = "";
    unsigned current = 0, pending = 0, minor = 0;
    static unsigned long cpus[kCpuWords];
    MAY(nvmlDeviceGetMigMode(device, &current, &pending));
    MUST(nvmlDeviceGetName(device, name, sizeof name));
    MUST(nvmlDeviceGetUUID(device, uuid, sizeof uuid));
    MUST(nvmlDeviceGetPciInfo_v3(device, &pci));
    MUST(nvmlDeviceGetMinorNumber(device, &minor));
    MUST(nvmlDeviceGetCpuAffinity(device, kCpuWords, cpus));
    EXPECT(cpus[0] != 0);
    for (unsigned link = 0; link < kLinks; ++link) {
      nvmlEnableState_t active = NVML_FEATURE_DISABLED;
      const nvmlReturn_t answer = nvmlDeviceGetNvLinkState(device, link, &active);
      if (answer == NVML_ERROR_NOT_SUPPORTED) break;
      if (answer != NVML_ERROR_INVALID_ARGUMENT) must("nvmlDeviceGetNvLinkState", answer);
      if (active == NVML_FEATURE_ENABLED) MUST(nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &pci));
    }
    printf("/dev/nvidia%u %s, MIG %s\n", minor, name, current ? "on" : "off");
    unsigned most = 0, found = 0;
    if (current) {
      MUST(nvmlDeviceGetMaxMigDeviceCount(device, &most));
      for (nvmlDevice_t mig; found < most; ++found)
        if (nvmlDeviceGetMigDeviceHandleByIndex(device, found, &mig) != NVML_SUCCESS) break;
      if (found == 0) printf("  no MIG devices: slurmd would end here\n");
      for (unsigned index = 0; index < found; ++index) slurm_mig(device, i, index, minors);
    }
    slurm_clocks(device);
  }
  MUST(nvmlShutdown());
}

/* ---- nvitop */
static void nvitop_memory(nvmlDevice_t device) {
  nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
  nvmlMemory_t plain;
  nvmlBAR1Memory_t bar;
  MUST(nvmlDeviceGetMemoryInfo_v2(device, &memory));
  MUST(nvmlDeviceGetMemoryInfo(device, &plain));
  EXPECT(memory.used <= memory.total && memory.total == plain.total);
  MUST(nvmlDeviceGetBAR1MemoryInfo(device, &bar));
  EXPECT(bar.bar1Used <= bar.bar1Total);
  printf("  %llu of %llu MiB\n", memory.used >> 20, memory.total >> 20);
}
static void nvitop_processes(nvmlDevice_t device, int is_mig) {
  nvmlProcessInfo_t infos[64];
  nvmlProcessUtilizationSample_t samples[64];
  unsigned count = 64, samples_count = 64;
  MUST(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
  for (unsigned i = 0; i < count; ++i) {
    char name[256];
    printf("  process on GPU instance %d\n", (int)infos[i].gpuInstanceId);
    MUST(nvmlSystemGetProcessName(infos[i].pid, name, sizeof name));
  }
  count = 64;
  MUST(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &count, infos));
  if (is_mig) return;
  const unsigned long long second_ago = ((unsigned long long)time(NULL) - 1) * 1000000;
  const nvmlReturn_t answer = nvmlDeviceGetProcessUtilization(device, samples, &samples_count, second_ago);
  if (answer != NVML_ERROR_NOT_FOUND) may("nvmlDeviceGetProcessUtilization", answer);
  if (answer == NVML_SUCCESS) EXPECT(samples[0].timeStamp >= second_ago && samples[0].smUtil <= 100);
}
static void nvitop_readings(nvmlDevice_t device) {
  nvmlUtilization_t utilisation;
  nvmlFieldValue_t links = {.fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT};
  nvmlEnableState_t state;
  nvmlPstates_t performance;
  nvmlComputeMode_t mode;
  unsigned value, period, other;
  int major, minor;
  unsigned long long errors;
  MAY(nvmlDeviceGetUtilizationRates(device, &utilisation));
  MAY(nvmlDeviceGetEncoderUtilization(device, &value, &period));
  MAY(nvmlDeviceGetDecoderUtilization(device, &value, &period));
  for (int type = NVML_CLOCK_GRAPHICS; type < NVML_CLOCK_COUNT; ++type) {
    MUST(nvmlDeviceGetClockInfo(device, (nvmlClockType_t)type, &value));
    MUST(nvmlDeviceGetMaxClockInfo(device, (nvmlClockType_t)type, &other));
    EXPECT(value <= other);
  }
  MAY(nvmlDeviceGetFanSpeed(device, &value));
  MUST(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &value));
  MUST(nvmlDeviceGetPowerUsage(device, &value));
  MUST(nvmlDeviceGetPowerManagementLimit(device, &other));
  EXPECT(value <= other);
  printf("  %u of %u W\n", value / 1000, other / 1000);
  MUST(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES, &value));
  MUST(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &value));
  MUST(nvmlDeviceGetFieldValues(device, 1, &links));
  may("NVML_FI_DEV_NVLINK_LINK_COUNT", links.nvmlReturn);
  MAY(nvmlDeviceGetDisplayActive(device, &state));
  MAY(nvmlDeviceGetDisplayMode(device, &state));
  MAY(nvmlDeviceGetDriverModel(device, &value, &other));
  MUST(nvmlDeviceGetPersistenceMode(device, &state));
  MUST(nvmlDeviceGetPerformanceState(device, &performance));
  MUST(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors));
  MUST(nvmlDeviceGetComputeMode(device, &mode));
  MUST(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
}
static void nvitop(void) {
  char text[96];
  int cuda;
  MUST(nvmlInitWithFlags(0));
  MUST(nvmlSystemGetDriverVersion(text, sizeof text));
  MUST(nvmlSystemGetCudaDriverVersion(&cuda));
  const unsigned count = boards();
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = board(i), mig;
    nvmlPciInfo_t pci;
    unsigned current = 0, pending = 0, most = 0, id;
    MUST(nvmlDeviceGetName(device, text, sizeof text));
    printf("%u %s\n", i, text);
    MUST(nvmlDeviceGetUUID(device, text, sizeof text));
    MUST(nvmlDeviceGetPciInfo_v3(device, &pci));
    nvitop_memory(device);
    nvitop_readings(device);
    nvitop_processes(device, 0);
    MUST(nvmlDeviceGetMigMode(device, &current, &pending));
    MUST(nvmlDeviceGetMaxMigDeviceCount(device, &most));
    EXPECT((most > 0) == (current == NVML_DEVICE_MIG_ENABLE));
    for (unsigned index = 0; index < most; ++index) {
      nvmlDeviceAttributes_t attributes;
      if (nvmlDeviceGetMigDeviceHandleByIndex(device, index, &mig) == NVML_ERROR_NOT_FOUND) continue;
      MUST(nvmlDeviceIsMigDeviceHandle(mig, &id));
      EXPECT(id == 1);
      MUST(nvmlDeviceGetGpuInstanceId(mig, &id));
      MUST(nvmlDeviceGetComputeInstanceId(mig, &id));
      MUST(nvmlDeviceGetAttributes_v2(mig, &attributes));
      MUST(nvmlDeviceGetName(mig, text, sizeof text));
      printf("  MIG %u %s\n", index, text);
      MUST(nvmlDeviceGetUUID(mig, text, sizeof text));
      nvitop_memory(mig);
      nvitop_processes(mig, 1);
    }
  }
  MUST(nvmlShutdown());
}

int main(int argc, char** argv) {
  const char* client = argc > 1 ? argv[1] : "";
  const char* minors = argc > 2 ? argv[2] : "/proc/driver/nvidia-caps/mig-minors";
  if (!strcmp(client, "nvitop"))
    nvitop();
  else if (!strcmp(client, "hwloc"))
    hwloc();
  else if (!strcmp(client, "go-nvml"))
    go_nvml();
  else if (!strcmp(client, "slurm"))
    slurm(minors);
  else
    return fprintf(stderr, "nvml_client_sequences nvitop|hwloc|go-nvml|slurm [MIG_MINORS]\n"), 2;
  return wrong > 0;
}
