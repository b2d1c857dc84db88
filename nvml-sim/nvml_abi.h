// The part of NVML's C ABI that this project calls and emulates: names, numbers, struct layouts and struct versions as
// NVIDIA's public API documentation gives them (NVML_API_VERSION 13, older versions kept where clients still use them).
// Written for this project so that nothing of the CUDA toolkit is needed to build: the driver in src/live takes the
// types of functions from here (decltype(&nvmlInit_v2) and dlsym), nvml-sim defines the functions themselves.
// Plain C and C++. Layouts are checked in nvml-sim/abi_test.cc. Units: MiB where a name says MB, bytes for memory, mW
// for power, mJ for energy, MHz for clocks, KB/s for PCIe throughput. Thread rule: as NVML, every call is thread-safe.
#ifndef SMARTMIG_NVML_ABI_H
#define SMARTMIG_NVML_ABI_H

#if defined(__GNUC__)
#define NVML_ABI_DECL __attribute__((visibility("default")))
#else
#define NVML_ABI_DECL
#endif

// C callers may hand over any number: in C++ each of these must be a value that the type can have.
#ifdef __cplusplus
#define NVML_ABI_INT : int
extern "C" {
#else
#define NVML_ABI_INT
#endif

#define NVML_STRUCT_VERSION(data, ver) ((unsigned int)(sizeof(nvml##data##_v##ver##_t) | ((unsigned int)(ver) << 24U)))
#define NVML_VALUE_NOT_AVAILABLE (-1)

typedef enum nvmlReturn_enum NVML_ABI_INT {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_ALREADY_INITIALIZED = 5,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_INSUFFICIENT_POWER = 8,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_IRQ_ISSUE = 11,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_CORRUPTED_INFOROM = 14,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_OPERATING_SYSTEM = 17,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_IN_USE = 19,
  NVML_ERROR_MEMORY = 20,
  NVML_ERROR_NO_DATA = 21,
  NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
  NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
  NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_DEPRECATED = 26,
  NVML_ERROR_NOT_READY = 27,
  NVML_ERROR_GPU_NOT_FOUND = 28,
  NVML_ERROR_INVALID_STATE = 29,
  NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
  NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef struct nvmlDevice_st* nvmlDevice_t;  // a board or a MIG device
typedef struct nvmlGpuInstance_st* nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st* nvmlComputeInstance_t;
typedef struct nvmlEventSet_st* nvmlEventSet_t;
typedef struct nvmlUnit_st* nvmlUnit_t;

// ---- sizes of buffers
#define NVML_DEVICE_INFOROM_VERSION_BUFFER_SIZE 16
#define NVML_DEVICE_UUID_BUFFER_SIZE 80
#define NVML_DEVICE_UUID_V2_BUFFER_SIZE 96
#define NVML_DEVICE_PART_NUMBER_BUFFER_SIZE 80
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE 80
#define NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE 80
#define NVML_DEVICE_NAME_BUFFER_SIZE 64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE 96
#define NVML_DEVICE_SERIAL_BUFFER_SIZE 30
#define NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE 32
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE 32
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE 16

#define NVML_INIT_FLAG_NO_GPUS 1u
#define NVML_INIT_FLAG_NO_ATTACH 2u
#define NVML_CUDA_DRIVER_VERSION_MAJOR(v) ((v) / 1000)
#define NVML_CUDA_DRIVER_VERSION_MINOR(v) (((v) % 1000) / 10)

// ---- enumerations
typedef enum NVML_ABI_INT { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 } nvmlEnableState_t;
typedef enum NVML_ABI_INT {
  NVML_BRAND_UNKNOWN = 0,
  NVML_BRAND_QUADRO = 1,
  NVML_BRAND_TESLA = 2,
  NVML_BRAND_GEFORCE = 5,
  NVML_BRAND_TITAN = 6,
  NVML_BRAND_NVIDIA_RTX = 12,
  NVML_BRAND_NVIDIA = 14
} nvmlBrandType_t;
typedef unsigned int nvmlDeviceArchitecture_t;
#define NVML_DEVICE_ARCH_AMPERE 7u
#define NVML_DEVICE_ARCH_ADA 8u
#define NVML_DEVICE_ARCH_HOPPER 9u
#define NVML_DEVICE_ARCH_BLACKWELL 10u
#define NVML_DEVICE_ARCH_UNKNOWN 0xffffffffu
typedef unsigned int nvmlBusType_t;
#define NVML_BUS_TYPE_UNKNOWN 0u
#define NVML_BUS_TYPE_PCIE 2u
typedef enum NVML_ABI_INT { NVML_TEMPERATURE_GPU = 0, NVML_TEMPERATURE_COUNT = 1 } nvmlTemperatureSensors_t;
typedef enum NVML_ABI_INT {
  NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
  NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
  NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
  NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3
} nvmlTemperatureThresholds_t;
typedef enum NVML_ABI_INT {
  NVML_CLOCK_GRAPHICS = 0,
  NVML_CLOCK_SM = 1,
  NVML_CLOCK_MEM = 2,
  NVML_CLOCK_VIDEO = 3,
  NVML_CLOCK_COUNT = 4
} nvmlClockType_t;
typedef enum NVML_ABI_INT { NVML_PCIE_UTIL_TX_BYTES = 0, NVML_PCIE_UTIL_RX_BYTES = 1 } nvmlPcieUtilCounter_t;
typedef enum NVML_ABI_INT { NVML_PSTATE_0 = 0, NVML_PSTATE_8 = 8, NVML_PSTATE_UNKNOWN = 32 } nvmlPstates_t;
typedef enum NVML_ABI_INT {
  NVML_COMPUTEMODE_DEFAULT = 0,
  NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
  NVML_COMPUTEMODE_PROHIBITED = 2,
  NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3
} nvmlComputeMode_t;
typedef enum NVML_ABI_INT {
  NVML_CLOCK_ID_CURRENT = 0,
  NVML_CLOCK_ID_APP_CLOCK_TARGET = 1,
  NVML_CLOCK_ID_APP_CLOCK_DEFAULT = 2,
  NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3
} nvmlClockId_t;
typedef enum NVML_ABI_INT { NVML_GPU_VIRTUALIZATION_MODE_NONE = 0 } nvmlGpuVirtualizationMode_t;
typedef unsigned int nvmlAffinityScope_t;
#define NVML_AFFINITY_SCOPE_NODE 0u
#define NVML_AFFINITY_SCOPE_SOCKET 1u
typedef enum NVML_ABI_INT { NVML_TOPOLOGY_INTERNAL = 0, NVML_TOPOLOGY_NODE = 40, NVML_TOPOLOGY_SYSTEM = 50 } nvmlGpuTopologyLevel_t;
typedef enum NVML_ABI_INT {
  NVML_TOTAL_POWER_SAMPLES = 0,
  NVML_GPU_UTILIZATION_SAMPLES = 1,
  NVML_MEMORY_UTILIZATION_SAMPLES = 2,
  NVML_ENC_UTILIZATION_SAMPLES = 3,
  NVML_DEC_UTILIZATION_SAMPLES = 4,
  NVML_PROCESSOR_CLK_SAMPLES = 5,
  NVML_MEMORY_CLK_SAMPLES = 6
} nvmlSamplingType_t;
typedef unsigned int nvmlPowerSource_t;
#define NVML_POWER_SOURCE_AC 0u
#define NVML_DEVICE_ADDRESSING_MODE_NONE 0u
#define NVML_DEVICE_ADDRESSING_MODE_ATS 2u
#define NVML_UUID_TYPE_ASCII 1u
#define NVML_UUID_TYPE_BINARY 2u
#define NVML_GPM_METRIC_GRAPHICS_UTIL 1u
#define NVML_GPM_METRIC_SM_UTIL 2u
#define NVML_GPM_METRIC_DRAM_BW_UTIL 10u
#define NVML_GPM_METRIC_MAX 333u  // of the newest headers
#define NVML_GPM_METRICS_GET_VERSION 1u
#define NVML_GPM_SUPPORT_VERSION 1u
typedef enum NVML_ABI_INT { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 } nvmlMemoryErrorType_t;
typedef enum NVML_ABI_INT { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 } nvmlEccCounterType_t;

// ---- MIG constants
#define NVML_DEVICE_MIG_DISABLE 0x0u
#define NVML_DEVICE_MIG_ENABLE 0x1u
// The `profile` argument of the profile-info calls; the id that they return is the `profileId` of all other calls.
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE 0x0u
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE 0x1u
#define NVML_GPU_INSTANCE_PROFILE_3_SLICE 0x2u
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE 0x3u
#define NVML_GPU_INSTANCE_PROFILE_7_SLICE 0x4u
#define NVML_GPU_INSTANCE_PROFILE_8_SLICE 0x5u
#define NVML_GPU_INSTANCE_PROFILE_6_SLICE 0x6u
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1 0x7u
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1 0x8u
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2 0x9u
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX 0xAu
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX 0xBu
#define NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX 0xCu
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME 0xDu
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME 0xEu
#define NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME 0xFu
#define NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME 0x10u
#define NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX 0x11u
#define NVML_GPU_INSTANCE_PROFILE_COUNT 0x12u
#define NVML_GPU_INSTANCE_PROFILE_CAPS_P2P 0x1u
#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE 0x0u
#define NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE 0x1u
#define NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE 0x2u
#define NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE 0x3u
#define NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE 0x4u
#define NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE 0x5u
#define NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE 0x6u
#define NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 0x7u
#define NVML_COMPUTE_INSTANCE_PROFILE_COUNT 0x8u
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED 0x0u
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT 0x1u
#define NVML_NO_INSTANCE_ID 0xFFFFFFFFu  // gpuInstanceId and computeInstanceId of a process outside MIG (our name)

// ---- fields of nvmlDeviceGetFieldValues
#define NVML_FI_DEV_MEMORY_TEMP 82u
#define NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION 83u  // mJ, unsigned long long
#define NVML_FI_DEV_NVLINK_LINK_COUNT 91u
#define NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED 184u
#define NVML_FI_DEV_POWER_AVERAGE 185u  // mW, unsigned int
#define NVML_FI_DEV_POWER_INSTANT 186u
#define NVML_FI_DEV_POWER_MIN_LIMIT 187u
#define NVML_FI_DEV_POWER_MAX_LIMIT 188u
#define NVML_FI_DEV_POWER_DEFAULT_LIMIT 189u
#define NVML_FI_DEV_POWER_CURRENT_LIMIT 190u
#define NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE 199u

// ---- events
#define nvmlEventTypeNone 0x0ULL
#define nvmlEventTypeSingleBitEccError 0x1ULL
#define nvmlEventTypeDoubleBitEccError 0x2ULL
#define nvmlEventTypePState 0x4ULL
#define nvmlEventTypeXidCriticalError 0x8ULL
#define nvmlEventTypeClock 0x10ULL
#define nvmlEventTypePowerSourceChange 0x80ULL
#define nvmlEventMigConfigChange 0x100ULL

// ---- structs
typedef struct {
  char busId[16];
  unsigned int domain, bus, device, pciDeviceId;
} nvmlPciInfo_v1_t;
typedef struct {
  char busId[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  unsigned int reserved0, reserved1, reserved2, reserved3;
} nvmlPciInfo_v2_t;
typedef struct {
  char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
  unsigned int domain, bus, device;
  unsigned int pciDeviceId;  // device id in the upper 16 bits, vendor id in the lower
  unsigned int pciSubSystemId;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
} nvmlPciInfo_t;

typedef struct {
  unsigned int version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
} nvmlPciInfoExt_v1_t;
#define nvmlPciInfoExt_v1 NVML_STRUCT_VERSION(PciInfoExt, 1)
typedef struct {
  unsigned int version, type;
  union {
    char str[41];
    unsigned char bytes[16];
  } value;
} nvmlUUID_v1_t;
#define nvmlUUID_v1 NVML_STRUCT_VERSION(UUID, 1)
typedef struct {
  unsigned int version, value;  // NVML_DEVICE_ADDRESSING_MODE_*
} nvmlDeviceAddressingMode_v1_t;
#define nvmlDeviceAddressingMode_v1 NVML_STRUCT_VERSION(DeviceAddressingMode, 1)
typedef struct {
  unsigned int version;
  char branch[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
} nvmlSystemDriverBranchInfo_v1_t;
#define nvmlSystemDriverBranchInfo_v1 NVML_STRUCT_VERSION(SystemDriverBranchInfo, 1)

typedef struct {
  unsigned long long total, free, used;  // used includes what the driver reserves
} nvmlMemory_t;
typedef struct {
  unsigned int version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
#define nvmlMemory_v2 NVML_STRUCT_VERSION(Memory, 2)
typedef struct {
  unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;
typedef struct {
  unsigned int gpu, memory;  // percent
} nvmlUtilization_t;

typedef struct {
  unsigned int pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
typedef struct {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;
typedef nvmlProcessInfo_v2_t nvmlProcessInfo_t;  // also what the _v3 calls fill
typedef struct {
  unsigned int pid;
  unsigned long long timeStamp;
  unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef enum NVML_ABI_INT {
  NVML_VALUE_TYPE_DOUBLE = 0,
  NVML_VALUE_TYPE_UNSIGNED_INT = 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
  NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
  NVML_VALUE_TYPE_SIGNED_INT = 5
} nvmlValueType_t;
typedef union {
  double dVal;
  int siVal;
  unsigned int uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  signed long long sllVal;
} nvmlValue_t;
typedef struct {
  unsigned long long timeStamp;  // microseconds since 1970
  nvmlValue_t sampleValue;
} nvmlSample_t;
typedef struct {
  unsigned int version, isSupportedDevice;
} nvmlGpmSupport_t;
typedef struct nvmlGpmSample_st* nvmlGpmSample_t;
typedef struct {
  unsigned int metricId;
  nvmlReturn_t nvmlReturn;
  double value;
  struct {
    const char *shortName, *longName, *unit;
  } metricInfo;
} nvmlGpmMetric_t;
typedef struct {
  unsigned int version, numMetrics;
  nvmlGpmSample_t sample1, sample2;
  nvmlGpmMetric_t metrics[98];  // 98 in older headers, more in newer ones: numMetrics of them are read
} nvmlGpmMetricsGet_t;
typedef struct {
  unsigned int fieldId, scopeId;
  long long timestamp, latencyUsec;
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;  // eventData: the Xid number of a critical error
} nvmlEventData_v1_t;
typedef struct {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;
  unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

typedef struct {
  unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
      sharedOfaCount;
} nvmlDeviceAttributes_v1_t;
typedef struct {
  unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
      sharedOfaCount;
  unsigned int gpuInstanceSliceCount, computeInstanceSliceCount;
  unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct {
  unsigned int start, size;
} nvmlGpuInstancePlacement_t;
typedef struct {
  unsigned int id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
typedef struct {
  unsigned int version;
  unsigned int id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
      encoderCount, jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];  // "MIG 1g.5gb"
} nvmlGpuInstanceProfileInfo_v2_t;
#define nvmlGpuInstanceProfileInfo_v2 NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 2)
typedef struct {
  unsigned int version;
  unsigned int id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
      jpegCount, ofaCount;
  unsigned long long memorySizeMB;
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  unsigned int capabilities;  // NVML_GPU_INSTANCE_PROFILE_CAPS_*
} nvmlGpuInstanceProfileInfo_v3_t;
#define nvmlGpuInstanceProfileInfo_v3 NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 3)
typedef struct {
  nvmlDevice_t device;
  unsigned int id, profileId;
  nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct {
  unsigned int start, size;
} nvmlComputeInstancePlacement_t;
typedef struct {
  unsigned int id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
typedef struct {
  unsigned int version;
  unsigned int id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];  // "MIG 1c.3g.20gb"
} nvmlComputeInstanceProfileInfo_v2_t;
#define nvmlComputeInstanceProfileInfo_v2 NVML_STRUCT_VERSION(ComputeInstanceProfileInfo, 2)
typedef struct {
  unsigned int version;
  unsigned int id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
      sharedEncoderCount, sharedJpegCount, sharedOfaCount;
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;
#define nvmlComputeInstanceProfileInfo_v3 NVML_STRUCT_VERSION(ComputeInstanceProfileInfo, 3)
typedef struct {
  nvmlDevice_t device;
  nvmlGpuInstance_t gpuInstance;
  unsigned int id, profileId;
} nvmlComputeInstanceInfo_v1_t;
typedef struct {
  nvmlDevice_t device;  // the MIG device handle
  nvmlGpuInstance_t gpuInstance;
  unsigned int id, profileId;
  nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;

#include "nvml_functions.h"

#ifdef __cplusplus
}
#endif
#endif
