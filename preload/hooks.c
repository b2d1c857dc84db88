/* The hooked functions: each calls the real one once, with the same arguments, returns its result and keeps its errno.
 * A call of the runtime ends in calls of the driver within the same thread: only the outermost is counted. */
#define _GNU_SOURCE
#include "hold.h"
#include "real.h"
#include "report.h"

/* As the CUDA headers declare them, without needing those: results are enums, device addresses 64-bit integers. */
typedef int Status;
typedef unsigned long long Address;
typedef void* Stream;
enum { kSuccess = 0, kOutOfMemory = 2, kNotInitialised = 3 }; /* the same in the driver and the runtime */

static __thread int depth __attribute__((tls_model("initial-exec")));

static Status counted(Status status, uint64_t key, uint32_t kind, uint64_t size) {
  if (depth > 0) return status;
  if (status == kSuccess && key != 0)
    report_allocated(key, kind, size);
  else if (status == kOutOfMemory)
    report_failed(size);
  return status;
}

/* One hook: COUNT_symbol has the logic; exported for linked calls; kEntries bound ones for those who ask for a pointer.
 */
#define ENTRY(symbol, number, PARAMETERS, ARGUMENTS)     \
  static Status entry##number##_##symbol PARAMETERS {    \
    const Function real = bound[kHook_##symbol][number]; \
    return count_##symbol ARGUMENTS;                     \
  }
#define UNPACK(...) __VA_ARGS__
#define DEFINE(symbol, PARAMETERS, ARGUMENTS, BODY)                                     \
  typedef Status(*Real_##symbol) PARAMETERS;                                            \
  static Status count_##symbol(Function real_, UNPACK PARAMETERS) {                     \
    const Real_##symbol call = (Real_##symbol)real_;                                    \
    BODY                                                                                \
  }                                                                                     \
  ENTRY(symbol, 0, PARAMETERS, (real, UNPACK ARGUMENTS))                                \
  ENTRY(symbol, 1, PARAMETERS, (real, UNPACK ARGUMENTS))                                \
  ENTRY(symbol, 2, PARAMETERS, (real, UNPACK ARGUMENTS))                                \
  ENTRY(symbol, 3, PARAMETERS, (real, UNPACK ARGUMENTS))                                \
  __attribute__((visibility("default"))) Status symbol PARAMETERS;                      \
  __attribute__((visibility("default"))) Status symbol PARAMETERS {                     \
    const Function real = real_for_caller(kHook_##symbol, __builtin_return_address(0)); \
    return real ? count_##symbol(real, UNPACK ARGUMENTS) : kNotInitialised;             \
  }

/* An allocation whose first parameter receives the address. */
#define ALLOCATE(symbol, kind, SIZE, PARAMETERS, ARGUMENTS)                             \
  DEFINE(symbol, PARAMETERS, ARGUMENTS, {                                               \
    ++depth;                                                                            \
    const Status status = call ARGUMENTS;                                               \
    --depth;                                                                            \
    return counted(status, out && status == kSuccess ? (uint64_t)*out : 0, kind, SIZE); \
  })

#define FREE(symbol, kind, PARAMETERS, ARGUMENTS)               \
  DEFINE(symbol, PARAMETERS, ARGUMENTS, {                       \
    if (depth > 0 || key == 0) return call ARGUMENTS;           \
    const struct Held taken = report_take((uint64_t)key, kind); \
    ++depth;                                                    \
    const Status status = call ARGUMENTS;                       \
    --depth;                                                    \
    if (status != kSuccess) report_put_back(&taken);            \
    return status;                                              \
  })

#define PITCHED (status == kSuccess && pitch ? (uint64_t)*pitch * height : (uint64_t)width * height)

ALLOCATE(cuMemAlloc_v2, kHeldDevice, size, (Address * out, size_t size), (out, size))
ALLOCATE(cuMemAllocPitch_v2, kHeldDevice, PITCHED,
         (Address * out, size_t* pitch, size_t width, size_t height, unsigned element),
         (out, pitch, width, height, element))
ALLOCATE(cuMemAllocManaged, kHeldManaged, size, (Address * out, size_t size, unsigned flags), (out, size, flags))
ALLOCATE(cuMemAllocAsync, kHeldDevice, size, (Address * out, size_t size, Stream stream), (out, size, stream))
ALLOCATE(cuMemAllocAsync_ptsz, kHeldDevice, size, (Address * out, size_t size, Stream stream), (out, size, stream))
ALLOCATE(cuMemAllocFromPoolAsync, kHeldDevice, size, (Address * out, size_t size, void* pool, Stream stream),
         (out, size, pool, stream))
ALLOCATE(cuMemAllocFromPoolAsync_ptsz, kHeldDevice, size, (Address * out, size_t size, void* pool, Stream stream),
         (out, size, pool, stream))
FREE(cuMemFree_v2, kHeldDevice, (Address key), (key))
FREE(cuMemFreeAsync, kHeldDevice, (Address key, Stream stream), (key, stream))
FREE(cuMemFreeAsync_ptsz, kHeldDevice, (Address key, Stream stream), (key, stream))

ALLOCATE(cudaMalloc, kHeldDevice, size, (void** out, size_t size), (out, size))
ALLOCATE(cudaMallocPitch, kHeldDevice, PITCHED, (void** out, size_t* pitch, size_t width, size_t height),
         (out, pitch, width, height))
ALLOCATE(cudaMallocManaged, kHeldManaged, size, (void** out, size_t size, unsigned flags), (out, size, flags))
ALLOCATE(cudaMallocAsync, kHeldDevice, size, (void** out, size_t size, Stream stream), (out, size, stream))
ALLOCATE(cudaMallocAsync_ptsz, kHeldDevice, size, (void** out, size_t size, Stream stream), (out, size, stream))
ALLOCATE(cudaMallocFromPoolAsync, kHeldDevice, size, (void** out, size_t size, void* pool, Stream stream),
         (out, size, pool, stream))
ALLOCATE(cudaMallocFromPoolAsync_ptsz, kHeldDevice, size, (void** out, size_t size, void* pool, Stream stream),
         (out, size, pool, stream))
FREE(cudaFree, kHeldDevice, (void* key), (key))
FREE(cudaFreeAsync, kHeldDevice, (void* key, Stream stream), (key, stream))
FREE(cudaFreeAsync_ptsz, kHeldDevice, (void* key, Stream stream), (key, stream))

/* Memory of its own, mapped to addresses later. Only that on a device counts. */
struct AllocationProperties {
  int type, handle_types, location_type, location;
};
DEFINE(cuMemCreate,
       (Address * out, size_t size, const struct AllocationProperties* properties, unsigned long long flags),
       (out, size, properties, flags), {
         enum { kOnDevice = 1 };
         const int on_device = properties && properties->location_type == kOnDevice;
         ++depth;
         const Status status = call(out, size, properties, flags);
         --depth;
         return on_device ? counted(status, out && status == kSuccess ? *out : 0, kHeldHandle, size) : status;
       })
FREE(cuMemRelease, kHeldHandle, (Address key), (key))
DEFINE(cuMemRetainAllocationHandle, (Address * out, void* address), (out, address), {
  const Status status = call(out, address);
  if (status == kSuccess && out && depth == 0) report_retained(*out);
  return status;
})
DEFINE(cuMemMap, (Address address, size_t size, size_t offset, Address handle, unsigned long long flags),
       (address, size, offset, handle, flags), {
         const Status status = call(address, size, offset, handle, flags);
         if (status == kSuccess && depth == 0) report_mapped(address, size, handle);
         return status;
       })
DEFINE(cuMemUnmap, (Address address, size_t size), (address, size), {
  const Status status = call(address, size);
  if (status == kSuccess && depth == 0) report_unmapped(address, size);
  return status;
})

DEFINE(cuInit, (unsigned flags), (flags), {
  hold_pass();
  return call(flags);
})

DEFINE(cuGetProcAddress, (const char* symbol, Function* out, int version, unsigned long long flags),
       (symbol, out, version, flags), {
         const Status status = call(symbol, out, version, flags);
         if (status == kSuccess && out) *out = answer_proc_address(symbol, version, flags, *out);
         return status;
       })
DEFINE(cuGetProcAddress_v2, (const char* symbol, Function* out, int version, unsigned long long flags, int* found),
       (symbol, out, version, flags, found), {
         const Status status = call(symbol, out, version, flags, found);
         if (status == kSuccess && out) *out = answer_proc_address(symbol, version, flags, *out);
         return status;
       })

const struct Hook kHookTable[kHooks] = {
#define HOOK(symbol, name, first, last) \
  {#symbol,                             \
   name,                                \
   first,                               \
   last,                                \
   (Function)symbol,                    \
   {(Function)entry0_##symbol, (Function)entry1_##symbol, (Function)entry2_##symbol, (Function)entry3_##symbol}},
    HOOKS(HOOK)
#undef HOOK
};
