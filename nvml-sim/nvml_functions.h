// The functions of nvml_abi.h, one line each; included by it alone. A name ending in _vN is the ABI's own spelling: the
// plain name is the oldest version, as in the real library.
#ifndef SMARTMIG_NVML_FUNCTIONS_H
#define SMARTMIG_NVML_FUNCTIONS_H
#define NVML_FN(name) NVML_ABI_DECL nvmlReturn_t name

// ---- library and system
NVML_FN(nvmlInit)(void);
NVML_FN(nvmlInit_v2)(void);
NVML_FN(nvmlInitWithFlags)(unsigned int flags);
NVML_FN(nvmlShutdown)(void);
NVML_ABI_DECL const char* nvmlErrorString(nvmlReturn_t result);
NVML_FN(nvmlSystemGetDriverVersion)(char* version, unsigned int length);
NVML_FN(nvmlSystemGetNVMLVersion)(char* version, unsigned int length);
NVML_FN(nvmlSystemGetCudaDriverVersion)(int* version);
NVML_FN(nvmlSystemGetCudaDriverVersion_v2)(int* version);
NVML_FN(nvmlSystemGetProcessName)(unsigned int pid, char* name, unsigned int length);
NVML_FN(nvmlSystemGetDriverBranch)(nvmlSystemDriverBranchInfo_v1_t* info, unsigned int length);
NVML_FN(nvmlUnitGetCount)(unsigned int* count);
NVML_FN(nvmlGetExcludedDeviceCount)(unsigned int* count);

// ---- boards: which
NVML_FN(nvmlDeviceGetCount)(unsigned int* count);
NVML_FN(nvmlDeviceGetCount_v2)(unsigned int* count);
NVML_FN(nvmlDeviceGetHandleByIndex)(unsigned int index, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleByIndex_v2)(unsigned int index, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleByUUID)(const char* uuid, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleByUUIDV)(const nvmlUUID_v1_t* uuid, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleBySerial)(const char* serial, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleByPciBusId)(const char* bus_id, nvmlDevice_t* device);
NVML_FN(nvmlDeviceGetHandleByPciBusId_v2)(const char* bus_id, nvmlDevice_t* device);
NVML_FN(nvmlDeviceValidateInforom)(nvmlDevice_t device);

// ---- boards: fixed facts
NVML_FN(nvmlDeviceGetName)(nvmlDevice_t device, char* name, unsigned int length);
NVML_FN(nvmlDeviceGetBrand)(nvmlDevice_t device, nvmlBrandType_t* type);
NVML_FN(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned int* index);
NVML_FN(nvmlDeviceGetSerial)(nvmlDevice_t device, char* serial, unsigned int length);
NVML_FN(nvmlDeviceGetUUID)(nvmlDevice_t device, char* uuid, unsigned int length);
NVML_FN(nvmlDeviceGetMinorNumber)(nvmlDevice_t device, unsigned int* minor_number);
NVML_FN(nvmlDeviceGetBoardId)(nvmlDevice_t device, unsigned int* board_id);
NVML_FN(nvmlDeviceGetBoardPartNumber)(nvmlDevice_t device, char* part_number, unsigned int length);
NVML_FN(nvmlDeviceGetVbiosVersion)(nvmlDevice_t device, char* version, unsigned int length);
NVML_FN(nvmlDeviceGetInforomImageVersion)(nvmlDevice_t device, char* version, unsigned int length);
NVML_FN(nvmlDeviceGetPciInfo)(nvmlDevice_t device, nvmlPciInfo_v1_t* pci);
NVML_FN(nvmlDeviceGetPciInfo_v2)(nvmlDevice_t device, nvmlPciInfo_v2_t* pci);
NVML_FN(nvmlDeviceGetPciInfo_v3)(nvmlDevice_t device, nvmlPciInfo_t* pci);
NVML_FN(nvmlDeviceGetPciInfoExt)(nvmlDevice_t device, nvmlPciInfoExt_v1_t* pci);
NVML_FN(nvmlDeviceGetModuleId)(nvmlDevice_t device, unsigned int* module_id);
NVML_FN(nvmlDeviceGetVirtualizationMode)(nvmlDevice_t device, nvmlGpuVirtualizationMode_t* mode);
NVML_FN(nvmlDeviceGetAddressingMode)(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t* mode);
NVML_FN(nvmlDeviceGetPowerSource)(nvmlDevice_t device, nvmlPowerSource_t* source);
NVML_FN(nvmlDeviceGetGspFirmwareVersion)(nvmlDevice_t device, char* version);
NVML_FN(nvmlDeviceGetGspFirmwareMode)(nvmlDevice_t device, unsigned int* enabled, unsigned int* by_default);
NVML_FN(nvmlDeviceGetArchitecture)(nvmlDevice_t device, nvmlDeviceArchitecture_t* arch);
NVML_FN(nvmlDeviceGetCudaComputeCapability)(nvmlDevice_t device, int* major, int* minor);
NVML_FN(nvmlDeviceGetNumGpuCores)(nvmlDevice_t device, unsigned int* cores);
NVML_FN(nvmlDeviceGetBusType)(nvmlDevice_t device, nvmlBusType_t* type);
NVML_FN(nvmlDeviceGetMaxPcieLinkGeneration)(nvmlDevice_t device, unsigned int* generation);
NVML_FN(nvmlDeviceGetMaxPcieLinkWidth)(nvmlDevice_t device, unsigned int* width);
NVML_FN(nvmlDeviceGetGpuMaxPcieLinkGeneration)(nvmlDevice_t device, unsigned int* generation);
NVML_FN(nvmlDeviceGetCurrPcieLinkGeneration)(nvmlDevice_t device, unsigned int* generation);
NVML_FN(nvmlDeviceGetCurrPcieLinkWidth)(nvmlDevice_t device, unsigned int* width);
NVML_FN(nvmlDeviceGetPcieThroughput)(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int* value);
NVML_FN(nvmlDeviceGetPcieReplayCounter)(nvmlDevice_t device, unsigned int* value);
NVML_FN(nvmlDeviceGetDisplayMode)(nvmlDevice_t device, nvmlEnableState_t* display);
NVML_FN(nvmlDeviceGetDisplayActive)(nvmlDevice_t device, nvmlEnableState_t* active);
NVML_FN(nvmlDeviceGetPersistenceMode)(nvmlDevice_t device, nvmlEnableState_t* mode);
NVML_FN(nvmlDeviceSetPersistenceMode)(nvmlDevice_t device, nvmlEnableState_t mode);
NVML_FN(nvmlDeviceGetComputeMode)(nvmlDevice_t device, nvmlComputeMode_t* mode);
NVML_FN(nvmlDeviceSetComputeMode)(nvmlDevice_t device, nvmlComputeMode_t mode);
NVML_FN(nvmlDeviceGetEccMode)(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending);
NVML_FN(nvmlDeviceGetTotalEccErrors)
(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter, unsigned long long* count);
NVML_FN(nvmlDeviceGetDefaultEccMode)(nvmlDevice_t device, nvmlEnableState_t* mode);
NVML_FN(nvmlDeviceGetRemappedRows)
(nvmlDevice_t device, unsigned int* corrected, unsigned int* uncorrected, unsigned int* pending, unsigned int* failed);
NVML_FN(nvmlDeviceGetNvLinkState)(nvmlDevice_t device, unsigned int link, nvmlEnableState_t* active);
NVML_FN(nvmlDeviceGetNvLinkVersion)(nvmlDevice_t device, unsigned int link, unsigned int* version);

// ---- boards: where they are
NVML_FN(nvmlDeviceGetCpuAffinity)(nvmlDevice_t device, unsigned int words, unsigned long* cpus);
NVML_FN(nvmlDeviceGetCpuAffinityWithinScope)
(nvmlDevice_t device, unsigned int words, unsigned long* cpus, nvmlAffinityScope_t scope);
NVML_FN(nvmlDeviceGetMemoryAffinity)
(nvmlDevice_t device, unsigned int words, unsigned long* nodes, nvmlAffinityScope_t scope);
NVML_FN(nvmlDeviceGetTopologyCommonAncestor)(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t* level);
NVML_FN(nvmlDeviceGetTopologyNearestGpus)
(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned int* count, nvmlDevice_t* devices);
NVML_FN(nvmlSystemGetTopologyGpuSet)(unsigned int cpu, unsigned int* count, nvmlDevice_t* devices);
NVML_FN(nvmlDeviceOnSameBoard)(nvmlDevice_t one, nvmlDevice_t other, int* same);
NVML_FN(nvmlDeviceGetMultiGpuBoard)(nvmlDevice_t device, unsigned int* several);

// ---- boards and MIG devices: readings
NVML_FN(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t* memory);
NVML_FN(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t* memory);
NVML_FN(nvmlDeviceGetBAR1MemoryInfo)(nvmlDevice_t device, nvmlBAR1Memory_t* memory);
NVML_FN(nvmlDeviceGetUtilizationRates)(nvmlDevice_t device, nvmlUtilization_t* utilization);
NVML_FN(nvmlDeviceGetEncoderUtilization)(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us);
NVML_FN(nvmlDeviceGetJpgUtilization)(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us);
NVML_FN(nvmlDeviceGetOfaUtilization)(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us);
NVML_FN(nvmlDeviceGetDecoderUtilization)(nvmlDevice_t device, unsigned int* utilization, unsigned int* period_us);
NVML_FN(nvmlDeviceGetProcessUtilization)
(nvmlDevice_t device, nvmlProcessUtilizationSample_t* samples, unsigned int* count, unsigned long long last_seen);
NVML_FN(nvmlDeviceGetPowerUsage)(nvmlDevice_t device, unsigned int* power);
NVML_FN(nvmlDeviceGetTotalEnergyConsumption)(nvmlDevice_t device, unsigned long long* energy);
NVML_FN(nvmlDeviceGetPowerManagementMode)(nvmlDevice_t device, nvmlEnableState_t* mode);
NVML_FN(nvmlDeviceGetPowerManagementLimit)(nvmlDevice_t device, unsigned int* limit);
NVML_FN(nvmlDeviceGetPowerManagementDefaultLimit)(nvmlDevice_t device, unsigned int* limit);
NVML_FN(nvmlDeviceGetPowerManagementLimitConstraints)(nvmlDevice_t device, unsigned int* least, unsigned int* most);
NVML_FN(nvmlDeviceSetPowerManagementLimit)(nvmlDevice_t device, unsigned int limit);
NVML_FN(nvmlDeviceGetEnforcedPowerLimit)(nvmlDevice_t device, unsigned int* limit);
NVML_FN(nvmlDeviceGetTemperature)(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int* celsius);
NVML_FN(nvmlDeviceGetTemperatureThreshold)
(nvmlDevice_t device, nvmlTemperatureThresholds_t threshold, unsigned int* celsius);
NVML_FN(nvmlDeviceGetFanSpeed)(nvmlDevice_t device, unsigned int* percent);
NVML_FN(nvmlDeviceGetFanSpeed_v2)(nvmlDevice_t device, unsigned int fan, unsigned int* percent);
NVML_FN(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned int* fans);
NVML_FN(nvmlDeviceGetClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock);
NVML_FN(nvmlDeviceGetMaxClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock);
NVML_FN(nvmlDeviceGetClock)(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned int* clock);
NVML_FN(nvmlDeviceGetApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock);
NVML_FN(nvmlDeviceGetDefaultApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock);
NVML_FN(nvmlDeviceGetMaxCustomerBoostClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned int* clock);
NVML_FN(nvmlDeviceGetSupportedMemoryClocks)(nvmlDevice_t device, unsigned int* count, unsigned int* clocks);
NVML_FN(nvmlDeviceGetSupportedGraphicsClocks)
(nvmlDevice_t device, unsigned int memory_clock, unsigned int* count, unsigned int* clocks);
NVML_FN(nvmlDeviceGetPowerState)(nvmlDevice_t device, nvmlPstates_t* state);
NVML_FN(nvmlDeviceGetPerformanceState)(nvmlDevice_t device, nvmlPstates_t* state);
NVML_FN(nvmlDeviceGetCurrentClocksThrottleReasons)(nvmlDevice_t device, unsigned long long* reasons);
NVML_FN(nvmlDeviceGetSupportedClocksThrottleReasons)(nvmlDevice_t device, unsigned long long* reasons);
NVML_FN(nvmlDeviceGetCurrentClocksEventReasons)(nvmlDevice_t device, unsigned long long* reasons);
NVML_FN(nvmlDeviceGetSupportedClocksEventReasons)(nvmlDevice_t device, unsigned long long* reasons);
NVML_FN(nvmlDeviceGetSamples)
(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long last_seen, nvmlValueType_t* value_type,
 unsigned int* count, nvmlSample_t* samples);
NVML_FN(nvmlDeviceGetFieldValues)(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
NVML_FN(nvmlDeviceGetComputeRunningProcesses)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos);
NVML_FN(nvmlDeviceGetComputeRunningProcesses_v2)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos);
NVML_FN(nvmlDeviceGetComputeRunningProcesses_v3)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos);
NVML_FN(nvmlDeviceGetGraphicsRunningProcesses)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos);
NVML_FN(nvmlDeviceGetGraphicsRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos);
NVML_FN(nvmlDeviceGetGraphicsRunningProcesses_v3)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos);
NVML_FN(nvmlDeviceGetMPSComputeRunningProcesses)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t* infos);
NVML_FN(nvmlDeviceGetMPSComputeRunningProcesses_v2)
(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t* infos);
NVML_FN(nvmlDeviceGetMPSComputeRunningProcesses_v3)(nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t* infos);

// ---- GPU performance monitoring (GPM): how busy a board or an instance was between two samples
NVML_FN(nvmlGpmQueryDeviceSupport)(nvmlDevice_t device, nvmlGpmSupport_t* support);
NVML_FN(nvmlGpmSampleAlloc)(nvmlGpmSample_t* sample);
NVML_FN(nvmlGpmSampleFree)(nvmlGpmSample_t sample);
NVML_FN(nvmlGpmSampleGet)(nvmlDevice_t device, nvmlGpmSample_t sample);
NVML_FN(nvmlGpmMigSampleGet)(nvmlDevice_t device, unsigned int gpu_instance, nvmlGpmSample_t sample);
NVML_FN(nvmlGpmMetricsGet)(nvmlGpmMetricsGet_t* metrics);

// ---- events
NVML_FN(nvmlDeviceGetSupportedEventTypes)(nvmlDevice_t device, unsigned long long* types);
NVML_FN(nvmlEventSetCreate)(nvmlEventSet_t* set);
NVML_FN(nvmlDeviceRegisterEvents)(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set);
NVML_FN(nvmlEventSetWait)(nvmlEventSet_t set, nvmlEventData_v1_t* data, unsigned int timeout_ms);
NVML_FN(nvmlEventSetWait_v2)(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms);
NVML_FN(nvmlEventSetFree)(nvmlEventSet_t set);

// ---- MIG mode and MIG devices
NVML_FN(nvmlDeviceGetMigMode)(nvmlDevice_t device, unsigned int* current, unsigned int* pending);
NVML_FN(nvmlDeviceSetMigMode)(nvmlDevice_t device, unsigned int mode, nvmlReturn_t* activation_status);
NVML_FN(nvmlDeviceGetMaxMigDeviceCount)(nvmlDevice_t device, unsigned int* count);
NVML_FN(nvmlDeviceGetMigDeviceHandleByIndex)(nvmlDevice_t device, unsigned int index, nvmlDevice_t* mig_device);
NVML_FN(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(nvmlDevice_t mig_device, nvmlDevice_t* device);
NVML_FN(nvmlDeviceIsMigDeviceHandle)(nvmlDevice_t device, unsigned int* is_mig_device);
NVML_FN(nvmlDeviceGetGpuInstanceId)(nvmlDevice_t mig_device, unsigned int* id);
NVML_FN(nvmlDeviceGetComputeInstanceId)(nvmlDevice_t mig_device, unsigned int* id);
NVML_FN(nvmlDeviceGetAttributes)(nvmlDevice_t mig_device, nvmlDeviceAttributes_v1_t* attributes);
NVML_FN(nvmlDeviceGetAttributes_v2)(nvmlDevice_t mig_device, nvmlDeviceAttributes_t* attributes);

// ---- GPU instances
NVML_FN(nvmlDeviceGetGpuInstanceProfileInfo)
(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t* info);
NVML_FN(nvmlDeviceGetGpuInstanceProfileInfoV)
(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_v2_t* info);
NVML_FN(nvmlDeviceGetGpuInstanceProfileInfoByIdV)
(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstanceProfileInfo_v2_t* info);
NVML_FN(nvmlDeviceGetGpuInstancePossiblePlacements)
(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstancePlacement_t* placements, unsigned int* count);
NVML_FN(nvmlDeviceGetGpuInstancePossiblePlacements_v2)
(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstancePlacement_t* placements, unsigned int* count);
NVML_FN(nvmlDeviceGetGpuInstanceRemainingCapacity)(nvmlDevice_t device, unsigned int profile_id, unsigned int* count);
NVML_FN(nvmlDeviceCreateGpuInstance)(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t* instance);
NVML_FN(nvmlDeviceCreateGpuInstanceWithPlacement)
(nvmlDevice_t device, unsigned int profile_id, const nvmlGpuInstancePlacement_t* placement,
 nvmlGpuInstance_t* instance);
NVML_FN(nvmlGpuInstanceDestroy)(nvmlGpuInstance_t instance);
NVML_FN(nvmlDeviceGetGpuInstances)
(nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t* instances, unsigned int* count);
NVML_FN(nvmlDeviceGetGpuInstanceById)(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t* instance);
NVML_FN(nvmlGpuInstanceGetInfo)(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info);

// ---- compute instances
NVML_FN(nvmlGpuInstanceGetComputeInstanceProfileInfo)
(nvmlGpuInstance_t instance, unsigned int profile, unsigned int engine_profile, nvmlComputeInstanceProfileInfo_t* info);
NVML_FN(nvmlGpuInstanceGetComputeInstanceProfileInfoV)
(nvmlGpuInstance_t instance, unsigned int profile, unsigned int engine_profile,
 nvmlComputeInstanceProfileInfo_v2_t* info);
NVML_FN(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)
(nvmlGpuInstance_t instance, unsigned int profile_id, unsigned int* count);
NVML_FN(nvmlGpuInstanceGetComputeInstancePossiblePlacements)
(nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstancePlacement_t* placements, unsigned int* count);
NVML_FN(nvmlGpuInstanceCreateComputeInstance)
(nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstance_t* compute_instance);
NVML_FN(nvmlGpuInstanceCreateComputeInstanceWithPlacement)
(nvmlGpuInstance_t instance, unsigned int profile_id, const nvmlComputeInstancePlacement_t* placement,
 nvmlComputeInstance_t* compute_instance);
NVML_FN(nvmlComputeInstanceDestroy)(nvmlComputeInstance_t compute_instance);
NVML_FN(nvmlGpuInstanceGetComputeInstances)
(nvmlGpuInstance_t instance, unsigned int profile_id, nvmlComputeInstance_t* compute_instances, unsigned int* count);
NVML_FN(nvmlGpuInstanceGetComputeInstanceById)
(nvmlGpuInstance_t instance, unsigned int id, nvmlComputeInstance_t* compute_instance);
NVML_FN(nvmlComputeInstanceGetInfo)(nvmlComputeInstance_t compute_instance, nvmlComputeInstanceInfo_v1_t* info);
NVML_FN(nvmlComputeInstanceGetInfo_v2)(nvmlComputeInstance_t compute_instance, nvmlComputeInstanceInfo_t* info);

#undef NVML_FN
#endif
