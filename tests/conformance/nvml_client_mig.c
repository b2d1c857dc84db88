/* Makes the calls of NVIDIA's MIG tools, through dlopen: mode query and set, profile info v1 to v3, possible
 * placements, create with and without placement, list, MIG device handles by index and UUID, attributes, destroy.
 *   nvml_client_mig list               as nvidia-smi mig -lgip and -lgi
 *   nvml_client_mig cycle              on every board with MIG on and no instance: create, check, destroy
 *   nvml_client_mig mode on|off        on every board; says what is pending
 * Exits 1 with a sentence when an answer is wrong. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_abi.h"

static void* library;
#define CALL(name, ...) ((__typeof__(&name))symbol(#name))(__VA_ARGS__)

static void* symbol(const char* name) {
  void* found = dlsym(library, name);
  if (!found) {
    printf("missing symbol %s\n", name);
    exit(1);
  }
  return found;
}

static void fail(const char* what, nvmlReturn_t status) {
  printf("%s: %s\n", what, CALL(nvmlErrorString, status));
  exit(1);
}
static void want(nvmlReturn_t expected, nvmlReturn_t got, const char* what) {
  if (got != expected) fail(what, got);
}
static void demand(int truth, const char* what) {
  if (!truth) fail(what, NVML_ERROR_UNKNOWN);
}

/* Profiles 0, 1, 2, ... until INVALID_ARGUMENT; NOT_SUPPORTED is skipped. All three versions must agree. */
static int next_profile(nvmlDevice_t device, unsigned int* constant, nvmlGpuInstanceProfileInfo_v2_t* info) {
  for (;; ++*constant) {
    nvmlGpuInstanceProfileInfo_t v1;
    nvmlGpuInstanceProfileInfo_v3_t v3;
    nvmlReturn_t status = CALL(nvmlDeviceGetGpuInstanceProfileInfo, device, *constant, &v1);
    if (status == NVML_ERROR_INVALID_ARGUMENT) return 0;
    if (status == NVML_ERROR_NOT_SUPPORTED) continue;
    want(NVML_SUCCESS, status, "nvmlDeviceGetGpuInstanceProfileInfo");
    info->version = nvmlGpuInstanceProfileInfo_v2;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstanceProfileInfoV, device, *constant, info), "profile info v2");
    v3.version = nvmlGpuInstanceProfileInfo_v3;
    want(NVML_SUCCESS,
         CALL(nvmlDeviceGetGpuInstanceProfileInfoV, device, *constant, (nvmlGpuInstanceProfileInfo_v2_t*)&v3),
         "profile info v3");
    /* Names are not compared: driver 580.159.04 on an H200 with MIG off answers "MIG 7g.0gb" in v3 for 1g.18gb. */
    demand(v1.id == info->id && v1.id == v3.id && v1.memorySizeMB == v3.memorySizeMB &&
               info->multiprocessorCount == v3.multiprocessorCount,
           "the versions of profile info differ");
    return 1;
  }
}

static unsigned int list_instances(nvmlDevice_t device, int print) {
  unsigned int total = 0;
  nvmlGpuInstanceProfileInfo_v2_t info;
  for (unsigned int c = 0; next_profile(device, &c, &info); ++c) {
    nvmlGpuInstance_t instances[16];
    unsigned int count = 0;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstances, device, info.id, instances, &count), "list GPU instances");
    for (unsigned int i = 0; i < count; ++i) {
      nvmlGpuInstanceInfo_t about;
      want(NVML_SUCCESS, CALL(nvmlGpuInstanceGetInfo, instances[i], &about), "GPU instance info");
      if (print)
        printf("  %s  profile %u  instance %u  placement %u:%u\n", info.name, about.profileId, about.id,
               about.placement.start, about.placement.size);
    }
    total += count;
  }
  return total;
}

static void list(nvmlDevice_t device) {
  nvmlGpuInstanceProfileInfo_v2_t info;
  for (unsigned int c = 0; next_profile(device, &c, &info); ++c) {
    nvmlGpuInstancePlacement_t placements[16];
    unsigned int count = 0, left = 0;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, info.id, NULL, &count),
         "placements");
    demand(count > 0 && count <= 16, "number of placements");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, info.id, placements, &count),
         "placements");
    nvmlReturn_t capacity = CALL(nvmlDeviceGetGpuInstanceRemainingCapacity, device, info.id, &left);
    printf("  %-18s id %2u  free %u/%u  %6llu MiB  %3u SM  %u CE %u DEC %u ENC %u JPEG %u OFA  {", info.name, info.id,
           capacity == NVML_SUCCESS ? left : 0, info.instanceCount, info.memorySizeMB, info.multiprocessorCount,
           info.copyEngineCount, info.decoderCount, info.encoderCount, info.jpegCount, info.ofaCount);
    for (unsigned int i = 0; i < count; ++i) printf("%s%u", i ? "," : "", placements[i].start);
    printf("}:%u\n", placements[0].size);
  }
}

/* The whole life of one instance of each profile at its last placement, as mig-parted and nvidia-smi live it. */
static void cycle(nvmlDevice_t device) {
  nvmlGpuInstanceProfileInfo_v2_t info;
  char last_uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
  for (unsigned int c = 0; next_profile(device, &c, &info); ++c) {
    nvmlGpuInstancePlacement_t placements[16];
    unsigned int count = 16;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, info.id, placements, &count),
         "placements");
    nvmlGpuInstance_t gi = NULL, again = NULL;
    const nvmlGpuInstancePlacement_t at = placements[count - 1];
    want(NVML_SUCCESS, CALL(nvmlDeviceCreateGpuInstanceWithPlacement, device, info.id, &at, &gi),
         "create at placement");
    want(NVML_ERROR_INSUFFICIENT_RESOURCES,
         CALL(nvmlDeviceCreateGpuInstanceWithPlacement, device, info.id, &at, &again), "create twice");
    nvmlGpuInstanceInfo_t about;
    want(NVML_SUCCESS, CALL(nvmlGpuInstanceGetInfo, gi, &about), "info");
    demand(about.device == device && about.profileId == info.id && about.placement.start == at.start &&
               about.placement.size == at.size,
           "read-back of the placement");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstanceById, device, about.id, &again), "by id");
    demand(again == gi, "handle by id");

    /* The compute instance of the most slices, then of the most SMs. */
    nvmlComputeInstanceProfileInfo_v2_t ci_info;
    unsigned int best = 0, best_slices = 0, best_sms = 0;
    for (unsigned int p = 0; p < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++p) {
      ci_info.version = nvmlComputeInstanceProfileInfo_v2;
      nvmlReturn_t status = CALL(nvmlGpuInstanceGetComputeInstanceProfileInfoV, gi, p, 0, &ci_info);
      if (status == NVML_ERROR_NOT_SUPPORTED) continue;
      want(NVML_SUCCESS, status, "compute profile info");
      if (ci_info.sliceCount > best_slices ||
          (ci_info.sliceCount == best_slices && ci_info.multiprocessorCount > best_sms)) {
        best = ci_info.id;
        best_slices = ci_info.sliceCount;
        best_sms = ci_info.multiprocessorCount;
      }
    }
    demand(best_slices == info.sliceCount && best_sms == info.multiprocessorCount, "whole compute instance");
    unsigned int left = 0;
    want(NVML_SUCCESS, CALL(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, gi, best, &left), "compute capacity");
    demand(left == 1, "compute capacity");
    nvmlComputeInstance_t ci = NULL;
    want(NVML_SUCCESS, CALL(nvmlGpuInstanceCreateComputeInstance, gi, best, &ci), "create compute instance");
    want(NVML_ERROR_IN_USE, CALL(nvmlGpuInstanceDestroy, gi), "destroy with a compute instance in it");
    nvmlComputeInstanceInfo_t ci_about;
    want(NVML_SUCCESS, CALL(nvmlComputeInstanceGetInfo_v2, ci, &ci_about), "compute instance info");

    nvmlDevice_t by_index = NULL, by_uuid = NULL, parent = NULL;
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE], name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    unsigned int most = 0, is_mig = 0, gi_id = 0, ci_id = 0;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetMaxMigDeviceCount, device, &most), "max MIG devices");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetMigDeviceHandleByIndex, device, 0, &by_index), "by index");
    want(NVML_ERROR_NOT_FOUND, CALL(nvmlDeviceGetMigDeviceHandleByIndex, device, most - 1, &parent), "a hole");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetUUID, ci_about.device, uuid, sizeof uuid), "UUID");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetHandleByUUID, uuid, &by_uuid), "by UUID");
    demand(by_index == ci_about.device && by_uuid == by_index, "handles of one MIG device differ");
    demand(strncmp(uuid, "MIG-", 4) == 0 && strcmp(uuid, last_uuid) != 0, "a MIG UUID is used once");
    strcpy(last_uuid, uuid);
    want(NVML_SUCCESS, CALL(nvmlDeviceIsMigDeviceHandle, by_uuid, &is_mig), "is MIG");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, by_uuid, &parent), "parent");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetGpuInstanceId, by_uuid, &gi_id), "GPU instance id");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetComputeInstanceId, by_uuid, &ci_id), "compute instance id");
    want(NVML_SUCCESS, CALL(nvmlDeviceGetName, by_uuid, name, sizeof name), "name");
    demand(is_mig && parent == device && gi_id == about.id && ci_id == ci_about.id, "ids of the MIG device");
    nvmlDeviceAttributes_t attributes;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetAttributes_v2, by_uuid, &attributes), "attributes");
    demand(attributes.memorySizeMB == info.memorySizeMB && attributes.gpuInstanceSliceCount == info.sliceCount &&
               attributes.multiprocessorCount == info.multiprocessorCount,
           "attributes");
    nvmlMemory_v2_t memory;
    memory.version = nvmlMemory_v2;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetMemoryInfo_v2, by_uuid, &memory), "memory");
    demand(memory.total >> 20 == info.memorySizeMB, "memory of the MIG device");
    demand(list_instances(device, 0) == 1, "one instance is listed");
    printf("  %s at %u:%u is %s, GPU instance %u\n", info.name, at.start, at.size, name, gi_id);

    want(NVML_SUCCESS, CALL(nvmlComputeInstanceDestroy, ci), "destroy compute instance");
    want(NVML_SUCCESS, CALL(nvmlGpuInstanceDestroy, gi), "destroy GPU instance");
    want(NVML_ERROR_INVALID_ARGUMENT, CALL(nvmlGpuInstanceGetInfo, gi, &about), "a stale handle");
    want(NVML_ERROR_NOT_FOUND, CALL(nvmlDeviceGetHandleByUUID, uuid, &by_uuid), "a stale UUID");

    want(NVML_SUCCESS, CALL(nvmlDeviceCreateGpuInstance, device, info.id, &gi), "create without placement");
    want(NVML_SUCCESS, CALL(nvmlGpuInstanceDestroy, gi), "destroy");
  }
  demand(list_instances(device, 0) == 0, "nothing is left");
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "list";
  library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  nvmlReturn_t status = CALL(nvmlInit_v2);
  if (status != NVML_SUCCESS) fail("nvmlInit_v2", status);
  unsigned int count = 0;
  want(NVML_SUCCESS, CALL(nvmlDeviceGetCount_v2, &count), "count");
  for (unsigned int i = 0; i < count; ++i) {
    nvmlDevice_t device = NULL;
    unsigned int current = 0, pending = 0;
    want(NVML_SUCCESS, CALL(nvmlDeviceGetHandleByIndex_v2, i, &device), "handle by index");
    if (strcmp(verb, "mode") == 0 && argc > 2) {
      nvmlReturn_t activation = NVML_SUCCESS;
      want(NVML_SUCCESS, CALL(nvmlDeviceSetMigMode, device, strcmp(argv[2], "on") == 0, &activation), "set mode");
      if (activation != NVML_SUCCESS) printf("activation: %s\n", CALL(nvmlErrorString, activation));
    }
    want(NVML_SUCCESS, CALL(nvmlDeviceGetMigMode, device, &current, &pending), "mode");
    printf("GPU %u: MIG %s, pending %s\n", i, current ? "on" : "off", pending ? "on" : "off");
    if (strcmp(verb, "list") == 0) list(device);
    if (strcmp(verb, "list") == 0 && current) list_instances(device, 1);
    if (strcmp(verb, "cycle") == 0 && current && list_instances(device, 0) == 0) cycle(device);
  }
  want(NVML_SUCCESS, CALL(nvmlShutdown), "shutdown");
  printf("ok\n");
  return 0;
}
