// What an emulated machine offers beyond NVML: register the calling process on a slice, say what it holds and does,
// wait on the machine's clock, inject faults. Exported by the same libnvidia-ml.so.1, so a client finds them with dlsym
// and does without where they are absent (a real driver). Call nvmlInit_v2 first. Units: microseconds of the machine's
// clock, bytes. Thread rule: every call is thread-safe; nvmlSimInterrupt is also safe in a signal handler.
#ifndef SMARTMIG_SIM_API_H
#define SMARTMIG_SIM_API_H
#include "nvml_abi.h"

#ifdef __cplusplus
extern "C" {
#endif
#define NVML_SIM_FN(name) NVML_ABI_DECL nvmlReturn_t name

// ---- processes. One registration for each process; it ends with the process, however that dies.
// `device`: "MIG-<uuid>", "GPU-<uuid>", an index, or NULL for CUDA_VISIBLE_DEVICES. `kind`: a job kind of
// data/speeds.csv; it decides the watts. NOT_FOUND: no such device; IN_USE: registered already; NOT_SUPPORTED: a board
// in MIG mode.
NVML_SIM_FN(nvmlSimRegisterProcess)(const char* device, const char* kind);
NVML_SIM_FN(nvmlSimUnregisterProcess)(void);
NVML_SIM_FN(nvmlSimSetMemory)(unsigned long long bytes);  // MEMORY: more than the slice has; the old value stays
NVML_SIM_FN(nvmlSimSetKind)(const char* kind);
NVML_SIM_FN(nvmlSimSetActive)(int active);  // 0: holds memory, draws no power

// ---- stand-ins: jobs that one process only pretends to run, each busy on its slice; any number up to what a machine
// can list (256 with all processes). They vanish with the process. `token`: the caller's name for it, not 0. IN_USE:
// that token stands already. They keep no device file open and are not on the clock.
NVML_SIM_FN(nvmlSimStandIn)(const char* device, const char* kind, unsigned int token);
NVML_SIM_FN(nvmlSimStandDown)(unsigned int token);
NVML_SIM_FN(nvmlSimStandInMemory)(unsigned int token, unsigned long long bytes);  // as nvmlSimSetMemory

typedef struct {
  char gpuModel[64];  // name in data/gpus.csv
  char profile[64];   // name in data/profiles.csv; the largest plain profile for a whole board
  char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
  unsigned int gpuIndex, computeSlices, boardComputeSlices, isMigDevice;
  unsigned long long memoryBytes;
} nvmlSimSlice_t;
NVML_SIM_FN(nvmlSimGetSlice)(const char* device, nvmlSimSlice_t* slice);  // `device` as above

// ---- clock. real and zero follow the host's; virtual stands still while any joined thread runs, and jumps to the
// earliest wake-up when all of them wait.
#define NVML_SIM_CLOCK_REAL 0u
#define NVML_SIM_CLOCK_ZERO 1u  // the host's time, but creating and destroying take none
#define NVML_SIM_CLOCK_VIRTUAL 2u
#define NVML_SIM_WAKE_ON_CHILD 1u  // a child process that leaves the clock, or dies, wakes this thread
#define NVML_SIM_RUN_LAST 2u       // at one instant this thread runs after all others have come to wait
#define NVML_SIM_UNTIL_WOKEN 0xFFFFFFFFFFFFFFFFull  // a sleep that has no end of its own
NVML_SIM_FN(nvmlSimClockMode)(unsigned int* mode);
NVML_SIM_FN(nvmlSimNow)(unsigned long long* us);
// SUCCESS: the time has passed. NOT_READY: woken early, by nvmlSimWake, nvmlSimInterrupt or a child.
NVML_SIM_FN(nvmlSimSleep)(unsigned long long us);
NVML_SIM_FN(nvmlSimClockJoin)
(unsigned int flags);  // the calling thread holds the clock until it sleeps, blocks or leaves
NVML_SIM_FN(nvmlSimClockLeave)(void);
NVML_SIM_FN(nvmlSimClockBlock)(void);  // waits for something else (a socket): does not hold the clock
NVML_SIM_FN(nvmlSimClockUnblock)(void);
// The same for another thread of this process (a kernel thread id), by whoever gives it something to do: from then on
// it holds the clock, whether or not it has noticed.
NVML_SIM_FN(nvmlSimClockUnblockThread)(unsigned int thread);
NVML_SIM_FN(nvmlSimExpectProcess)(unsigned int pid);  // holds the clock until that process joins, or dies
NVML_SIM_FN(nvmlSimWake)(unsigned int pid);           // its sleep ends now, or its next one; call before a signal to it
NVML_SIM_FN(nvmlSimWakeThread)(unsigned int thread);  // the same for one thread of this process
NVML_ABI_DECL void nvmlSimInterrupt(void);

// ---- faults
typedef enum {
  NVML_SIM_FAULT_IN_USE_LAG = 1,      // an instance stays IN_USE for delayUs after its last process or CI is gone
  NVML_SIM_FAULT_FAIL = 2,            // calls return `code`
  NVML_SIM_FAULT_SLOW = 3,            // calls take delayUs more
  NVML_SIM_FAULT_HANG = 4,            // calls do not return until the fault is cleared
  NVML_SIM_FAULT_WRONG_READBACK = 5,  // nvmlGpuInstanceGetInfo names another legal placement
  NVML_SIM_FAULT_CREATE_LIES = 6,     // creating a GPU instance reports success and makes nothing
  NVML_SIM_FAULT_DESTROY_LIES = 7,    // destroying a GPU instance reports success and leaves it
  NVML_SIM_FAULT_GPU_LOST = 8,        // the board answers GPU_IS_LOST to everything; Xid 79
  NVML_SIM_FAULT_LEAKED_HANDLE = 9,   // process `pid` holds the board, or its GPU instance `gpuInstanceId`
  NVML_SIM_FAULT_XID = 10,            // an event Xid `code` on the board
  NVML_SIM_FAULT_ECC = 11,            // `count` memory errors that could not be corrected, told by Xid 48
  NVML_SIM_FAULT_STUCK_MEMORY = 12    // a process that dies with memory stays listed with it until this is cleared
} nvmlSimFaultKind_t;
#define NVML_SIM_UNTIL_CLEARED 0xFFFFFFFFu
typedef struct {
  nvmlSimFaultKind_t kind;
  int gpu;             // -1: every board
  unsigned int count;  // hits until it is spent, or NVML_SIM_UNTIL_CLEARED
  unsigned int code;   // of FAIL: an nvmlReturn_t
  unsigned long long delayUs;
  unsigned int pid, gpuInstanceId;  // of LEAKED_HANDLE; gpuInstanceId NVML_NO_INSTANCE_ID: the whole board
  char call[64];                    // of FAIL, SLOW, HANG: the beginning of the function's name; empty: every call
} nvmlSimFault_t;
NVML_SIM_FN(nvmlSimInjectFault)(const nvmlSimFault_t* fault);
NVML_SIM_FN(nvmlSimClearFaults)(unsigned int kind, int gpu);  // kind 0: all; gpu -1: all

// As nvidia-smi --gpu-reset: the board's instances go, a pending MIG mode becomes the current one, a lost board
// returns.
NVML_SIM_FN(nvmlSimResetGpu)(unsigned int gpu);

// ---- machines. Before nvmlInit: makes a machine in a directory, or leaves the one that is there; one from before the
// last start of the host, of which nothing can have survived, is replaced; `made` says whether it was made now. NULL or
// 0: the default. After nvmlInit: which boards the machine has, as "8xa100-40gb,2xh200-141gb".
NVML_SIM_FN(nvmlSimMakeMachine)
(const char* directory, const char* gpus, const char* clock, const char* power, unsigned long long seed, int* made);
NVML_SIM_FN(nvmlSimGetBoards)(char* text, unsigned int length);

NVML_ABI_DECL const char* nvmlSimLastError(void);       // a sentence about the last failed init or making
NVML_ABI_DECL const char* nvmlSimStateDirectory(void);  // empty: a private state

#undef NVML_SIM_FN
#ifdef __cplusplus
}
#endif
#endif
