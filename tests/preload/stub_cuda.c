/* A libcuda.so.1 for the tests: hands out invented addresses within STUB_CUDA_MIB (default 1024) and knows the truth
 * about what is held. Every allocation sets errno, which the caller must see. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

enum { kMost = 1 << 16, kOk = 0, kInvalid = 1, kNoMemory = 2, kNoDevice = 100, kNotFound = 500 };
static struct {
  size_t size;
  int owed, maps; /* handles still to be released; mappings of it */
  int backing;    /* of a mapping: its place + 1 */
} places[kMost];
static int empty[kMost], empties, used;
static size_t held, peak, limit;
static long calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static Address name_of(int at) { return 0x7f0000000000ULL + (Address)at * 0x200000; }
static int place_of(Address address) {
  const Address at = (address - 0x7f0000000000ULL) / 0x200000;
  return at < (Address)used && places[at].size ? (int)at : -1;
}

static size_t capacity(void) {
  if (limit == 0) limit = (size_t)atoll(getenv("STUB_CUDA_MIB") ? getenv("STUB_CUDA_MIB") : "1024") << 20;
  return limit;
}

static int take(Address* out, size_t size) {
  pthread_mutex_lock(&mutex);
  ++calls;
  int code = kOk;
  if (!out || size == 0) {
    code = kInvalid;
  } else if (size > capacity() - held || (empties == 0 && used == kMost)) {
    code = kNoMemory;
  } else {
    const int at = empties ? empty[--empties] : used++;
    places[at].size = size;
    places[at].owed = 1;
    places[at].maps = places[at].backing = 0;
    held += size;
    if (held > peak) peak = held;
    *out = name_of(at);
  }
  pthread_mutex_unlock(&mutex);
  errno = 77;
  return code;
}
static void drop(int at) {
  if (places[at].owed || places[at].maps) return;
  held -= places[at].size;
  places[at].size = 0;
  empty[empties++] = at;
}
static int give(Address address) {
  pthread_mutex_lock(&mutex);
  ++calls;
  const int at = place_of(address);
  const int good = at >= 0 && places[at].owed > 0;
  if (good) --places[at].owed, drop(at);
  pthread_mutex_unlock(&mutex);
  return good || address == 0 ? kOk : kInvalid;
}

/* What the environment says at the first cuInit is what counts, as with the real driver. Where STUB_NVML names the
 * library of an emulated machine, the process is registered on its slice there, and a slice that is none is refused. */
static char seen_device[256] = "none", pipe_directory[256], share[16], memory[64];
static int begun, begin_code;
static void keep(char* out, size_t size, const char* name) {
  const char* value = getenv(name);
  snprintf(out, size, "%s", value ? value : "-");
}
static int register_process(void) {
  const char* path = getenv("STUB_NVML");
  if (!path || !*path) return kOk;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  int (*init)(void) = library ? dlsym(library, "nvmlInit_v2") : NULL;
  int (*enrol)(const char*, const char*) = library ? dlsym(library, "nvmlSimRegisterProcess") : NULL;
  if (!init || !enrol || init() != 0) return kNoDevice;
  const int code = enrol(seen_device, "unknown");
  return code == 0 || code == 19 ? kOk : kNoDevice; /* 19: it is there already */
}
int cuInit(unsigned flags) {
  if (flags) return kInvalid;
  pthread_mutex_lock(&mutex);
  if (!begun) {
    begun = 1;
    keep(seen_device, sizeof(seen_device), "CUDA_VISIBLE_DEVICES");
    keep(pipe_directory, sizeof(pipe_directory), "CUDA_MPS_PIPE_DIRECTORY");
    keep(share, sizeof(share), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    keep(memory, sizeof(memory), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    begin_code = register_process();
  }
  pthread_mutex_unlock(&mutex);
  return begin_code;
}
const char* stub_device(void) { return seen_device; }
const char* stub_pipe(void) { return pipe_directory; }
const char* stub_share(void) { return share; }
const char* stub_memory(void) { return memory; }
int cuDriverGetVersion(int* out) { return *out = 12080, kOk; }
int cuDeviceGet(int* out, int ordinal) { return *out = ordinal, ordinal ? kInvalid : kOk; }
int cuDevicePrimaryCtxRetain(void** out, int device) { return *out = &mutex, device ? kInvalid : kOk; }
int cuCtxSetCurrent(void* context) { return context == &mutex ? kOk : kInvalid; }
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  *total = capacity();
  *free_bytes = *total - held;
  return kOk;
}
int cuDeviceGetDefaultMemPool(void** out, int device) { return *out = &mutex, device ? kInvalid : kOk; }
int cuMemAlloc_v2(Address* out, size_t size) { return take(out, size); }
int cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  (void)element;
  *pitch = (width + 511) / 512 * 512;
  return take(out, *pitch * height);
}
int cuMemAllocManaged(Address* out, size_t size, unsigned flags) { return (void)flags, take(out, size); }
int cuMemAllocAsync(Address* out, size_t size, void* stream) { return (void)stream, take(out, size); }
int cuMemAllocAsync_ptsz(Address* out, size_t size, void* stream) { return (void)stream, take(out, size); }
int cuMemAllocFromPoolAsync(Address* out, size_t size, void* pool, void* stream) {
  return (void)pool, (void)stream, take(out, size);
}
int cuMemFree_v2(Address address) { return give(address); }
int cuMemFreeAsync(Address address, void* stream) { return (void)stream, give(address); }
int cuMemFreeAsync_ptsz(Address address, void* stream) { return (void)stream, give(address); }

int cuMemGetAllocationGranularity(size_t* out, const void* properties, int option) {
  return *out = 2 << 20, properties && option == 0 ? kOk : kInvalid;
}
int cuMemAddressReserve(Address* out, size_t size, size_t alignment, Address wanted, unsigned long long flags) {
  *out = 0x600000000000;
  return size && alignment == 0 && wanted == 0 && flags == 0 ? kOk : kInvalid;
}
int cuMemSetAccess(Address address, size_t size, const void* access, size_t count) {
  return address && size && access && count ? kOk : kInvalid;
}
int cuMemAddressFree(Address address, size_t size) { return address && size ? kOk : kInvalid; }

int cuMemCreate(Address* out, size_t size, const void* properties, unsigned long long flags) {
  return (void)properties, (void)flags, take(out, size);
}
int cuMemRelease(Address handle) { return give(handle); }

static struct {
  Address from;
  size_t size;
  int place;
} mappings[1024];
static int mapped;
int cuMemMap(Address address, size_t size, size_t offset, Address handle, unsigned long long flags) {
  const int at = place_of(handle);
  if (at < 0 || offset || flags) return kInvalid;
  ++places[at].maps;
  mappings[mapped].from = address;
  mappings[mapped].size = size;
  mappings[mapped++].place = at;
  return kOk;
}
int cuMemUnmap(Address address, size_t size) {
  int found = 0;
  for (int i = 0; i < mapped; ++i) {
    if (mappings[i].from < address || mappings[i].from >= address + size) continue;
    --places[mappings[i].place].maps;
    drop(mappings[i].place);
    mappings[i--] = mappings[--mapped];
    found = 1;
  }
  return found ? kOk : kInvalid;
}
int cuMemRetainAllocationHandle(Address* out, void* address) {
  for (int i = 0; i < mapped; ++i) {
    if (mappings[i].from != (Address)address) continue;
    ++places[mappings[i].place].owed;
    *out = name_of(mappings[i].place);
    return kOk;
  }
  return kInvalid;
}

int cuGetProcAddress_v2(const char* symbol, void** out, int version, unsigned long long flags, int* status);
int cuGetProcAddress(const char* symbol, void** out, int version, unsigned long long flags) {
  static const char* const second[] = {"cuMemAlloc", "cuMemAllocPitch", "cuMemFree"};
  char name[128];
  void* self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  strncpy(name, symbol, 100);
  name[100] = 0;
  for (int i = 0; i < 3; ++i)
    if (strcmp(symbol, second[i]) == 0 && version >= 3020) strcat(name, "_v2");
  if (strcmp(symbol, "cuGetProcAddress") == 0 && version >= 12000) strcat(name, "_v2");
  if ((flags & 2) && strstr(name, "Async") && !strstr(name, "Pool")) strcat(name, "_ptsz");
  /* Not through the global scope, and by version: what a library finds in itself, hooks or no hooks. */
  *out = dlvsym(self, name, "STUB");
  dlclose(self);
  return *out ? kOk : kNotFound;
}
int cuGetProcAddress_v2(const char* symbol, void** out, int version, unsigned long long flags, int* status) {
  const int code = cuGetProcAddress(symbol, out, version, flags);
  if (status) *status = code == kOk ? 0 : 1;
  return code;
}

size_t stub_held(void) { return held; }
size_t stub_peak(void) { return peak; }
long stub_calls(void) { return calls; }
