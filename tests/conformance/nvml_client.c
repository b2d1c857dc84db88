/* Makes the calls that nvtop makes, in its order, through dlopen: first every symbol it needs, then the static facts of
 * each board, then a few rounds of readings and process lists. Prints what it saw; exits 1 with the call's name when an
 * answer is impossible. Takes no argument; the library is found as nvtop finds it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_abi.h"

static void* library;

static void* need(const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol) {
    printf("missing symbol %s\n", name);
    exit(1);
  }
  return symbol;
}

static const char* (*error_string)(nvmlReturn_t);

/* A call may succeed, or not be supported where `optional`. */
static int check(nvmlReturn_t status, const char* call, int optional) {
  if (status == NVML_SUCCESS) return 1;
  if (optional && status == NVML_ERROR_NOT_SUPPORTED) return 0;
  printf("%s: %s\n", call, error_string(status));
  exit(1);
}

#define LOAD(name) __typeof__(&name) p_##name = (__typeof__(&name))need(#name)

int main(void) {
  library = dlopen("libnvidia-ml.so", RTLD_LAZY);
  if (!library) library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  error_string = (const char* (*)(nvmlReturn_t))need("nvmlErrorString");
  LOAD(nvmlInit_v2);
  LOAD(nvmlShutdown);
  LOAD(nvmlDeviceGetCount_v2);
  LOAD(nvmlDeviceGetHandleByIndex_v2);
  LOAD(nvmlDeviceGetName);
  LOAD(nvmlDeviceGetArchitecture);
  LOAD(nvmlDeviceGetPciInfo_v3);
  LOAD(nvmlDeviceGetMaxPcieLinkGeneration);
  LOAD(nvmlDeviceGetMaxPcieLinkWidth);
  LOAD(nvmlDeviceGetTemperatureThreshold);
  LOAD(nvmlDeviceGetClockInfo);
  LOAD(nvmlDeviceGetMaxClockInfo);
  LOAD(nvmlDeviceGetUtilizationRates);
  LOAD(nvmlDeviceGetMemoryInfo_v2);
  LOAD(nvmlDeviceGetMemoryInfo);
  LOAD(nvmlDeviceGetCurrPcieLinkGeneration);
  LOAD(nvmlDeviceGetCurrPcieLinkWidth);
  LOAD(nvmlDeviceGetPcieThroughput);
  LOAD(nvmlDeviceGetFanSpeed);
  LOAD(nvmlDeviceGetTemperature);
  LOAD(nvmlDeviceGetPowerUsage);
  LOAD(nvmlDeviceGetEnforcedPowerLimit);
  LOAD(nvmlDeviceGetEncoderUtilization);
  LOAD(nvmlDeviceGetDecoderUtilization);
  LOAD(nvmlDeviceGetGraphicsRunningProcesses_v3);
  LOAD(nvmlDeviceGetComputeRunningProcesses_v3);
  LOAD(nvmlDeviceGetMPSComputeRunningProcesses_v3);
  LOAD(nvmlDeviceGetProcessUtilization);
  LOAD(nvmlDeviceGetMigMode);
  LOAD(nvmlSystemGetProcessName);
  need("nvmlDeviceGetGraphicsRunningProcesses_v2");
  need("nvmlDeviceGetGraphicsRunningProcesses");
  need("nvmlDeviceGetComputeRunningProcesses_v2");
  need("nvmlDeviceGetComputeRunningProcesses");

  check(p_nvmlInit_v2(), "nvmlInit_v2", 0);
  unsigned int count = 0;
  check(p_nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount_v2", 0);
  printf("%u GPUs\n", count);
  for (unsigned int i = 0; i < count; ++i) {
    nvmlDevice_t device = NULL;
    nvmlPciInfo_t pci;
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    unsigned int arch = 0, generation = 0, width = 0, slowdown = 0, current_mig = 0, pending_mig = 0;
    check(p_nvmlDeviceGetHandleByIndex_v2(i, &device), "nvmlDeviceGetHandleByIndex_v2", 0);
    check(p_nvmlDeviceGetPciInfo_v3(device, &pci), "nvmlDeviceGetPciInfo_v3", 0);
    check(p_nvmlDeviceGetName(device, name, sizeof name), "nvmlDeviceGetName", 0);
    check(p_nvmlDeviceGetArchitecture(device, &arch), "nvmlDeviceGetArchitecture", 0);
    check(p_nvmlDeviceGetMaxPcieLinkGeneration(device, &generation), "nvmlDeviceGetMaxPcieLinkGeneration", 1);
    check(p_nvmlDeviceGetMaxPcieLinkWidth(device, &width), "nvmlDeviceGetMaxPcieLinkWidth", 1);
    check(p_nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &slowdown),
          "nvmlDeviceGetTemperatureThreshold", 1);
    check(p_nvmlDeviceGetMigMode(device, &current_mig, &pending_mig), "nvmlDeviceGetMigMode", 1);
    printf("GPU %u: %s, %s, PCIe %u.0 x%u, slowdown at %u C, MIG %s\n", i, name, pci.busIdLegacy, generation, width,
           slowdown, current_mig ? "on" : "off");

    for (int round = 0; round < 2; ++round) {
      unsigned int value = 0, max_value = 0, period = 0, limit = 0, speed = 0, temperature = 0;
      nvmlUtilization_t utilization;
      nvmlMemory_v2_t memory;
      nvmlMemory_t memory_v1;
      memory.version = nvmlMemory_v2;
      check(p_nvmlDeviceGetClockInfo(device, NVML_CLOCK_GRAPHICS, &value), "nvmlDeviceGetClockInfo", 1);
      check(p_nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_MEM, &max_value), "nvmlDeviceGetMaxClockInfo", 1);
      int rates = check(p_nvmlDeviceGetUtilizationRates(device, &utilization), "nvmlDeviceGetUtilizationRates", 1);
      if (rates && current_mig) {
        printf("utilisation is known although MIG is on\n");
        return 1;
      }
      check(p_nvmlDeviceGetEncoderUtilization(device, &value, &period), "nvmlDeviceGetEncoderUtilization", 1);
      check(p_nvmlDeviceGetDecoderUtilization(device, &value, &period), "nvmlDeviceGetDecoderUtilization", 1);
      check(p_nvmlDeviceGetMemoryInfo_v2(device, &memory), "nvmlDeviceGetMemoryInfo_v2", 0);
      check(p_nvmlDeviceGetMemoryInfo(device, &memory_v1), "nvmlDeviceGetMemoryInfo", 0);
      check(p_nvmlDeviceGetCurrPcieLinkGeneration(device, &generation), "nvmlDeviceGetCurrPcieLinkGeneration", 1);
      check(p_nvmlDeviceGetCurrPcieLinkWidth(device, &width), "nvmlDeviceGetCurrPcieLinkWidth", 1);
      check(p_nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &value), "nvmlDeviceGetPcieThroughput", 1);
      check(p_nvmlDeviceGetFanSpeed(device, &speed), "nvmlDeviceGetFanSpeed", 1);
      check(p_nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &temperature), "nvmlDeviceGetTemperature", 0);
      unsigned int power = 0;
      check(p_nvmlDeviceGetPowerUsage(device, &power), "nvmlDeviceGetPowerUsage", 0);
      check(p_nvmlDeviceGetEnforcedPowerLimit(device, &limit), "nvmlDeviceGetEnforcedPowerLimit", 0);
      if (memory.total == 0 || memory.used + memory.free + memory.reserved != memory.total || power == 0 ||
          power > limit) {
        printf("readings do not fit together\n");
        return 1;
      }

      nvmlProcessUtilizationSample_t samples[64];
      unsigned int sample_count = 64;
      nvmlReturn_t sampled = p_nvmlDeviceGetProcessUtilization(device, samples, &sample_count, 0);
      if (sampled != NVML_SUCCESS && sampled != NVML_ERROR_NOT_FOUND && sampled != NVML_ERROR_NOT_SUPPORTED &&
          sampled != NVML_ERROR_INSUFFICIENT_SIZE) /* a real board may hold more samples than any client asks for */
        check(sampled, "nvmlDeviceGetProcessUtilization", 0);

      /* As nvtop: a buffer that grows while the answer is INSUFFICIENT_SIZE. */
      unsigned int room = 1, got = room;
      nvmlProcessInfo_t* infos = malloc(room * sizeof *infos);
      nvmlReturn_t status;
      while ((status = p_nvmlDeviceGetComputeRunningProcesses_v3(device, &got, infos)) ==
             NVML_ERROR_INSUFFICIENT_SIZE) {
        room += got;
        got = room;
        infos = realloc(infos, room * sizeof *infos);
      }
      check(status, "nvmlDeviceGetComputeRunningProcesses_v3", 0);
      unsigned int none = 0;
      check(p_nvmlDeviceGetGraphicsRunningProcesses_v3(device, &none, NULL), "graphics processes", 1);
      check(p_nvmlDeviceGetMPSComputeRunningProcesses_v3(device, &none, NULL), "MPS processes", 1);
      if (round == 1) {
        printf("  %.1f W of %.0f W, %u C, %llu of %llu MiB, %u processes\n", power / 1000.0, limit / 1000.0,
               temperature, memory.used >> 20, memory.total >> 20, got);
        for (unsigned int p = 0; p < got; ++p) {
          char program[256] = "?";
          p_nvmlSystemGetProcessName(infos[p].pid, program, sizeof program);
          const char* slash = strrchr(program, '/');
          printf("  %s on GPU instance %d: %llu MiB\n", slash ? slash + 1 : program, (int)infos[p].gpuInstanceId,
                 infos[p].usedGpuMemory >> 20);
        }
      }
      free(infos);
    }
  }
  check(p_nvmlShutdown(), "nvmlShutdown", 0);
  dlclose(library);
  printf("ok\n");
  return 0;
}
