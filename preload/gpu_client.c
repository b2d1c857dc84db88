/* The preload library on a real GPU: asks the driver for memory in every way and compares the record with what it
 * asked. preload_gpu_client check [LIBCUDART]   lines "PASS ..." and "FAIL ..."; exit 0 where none failed
 *   preload_gpu_client cost                nanoseconds of an allocation and its free, small and large
 * Needs neither CUDA headers nor the toolkit; changes nothing but its own memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/jobs/memory_record.h"

typedef unsigned long long Address;
typedef struct SmartmigMemoryRecord Record;
enum { kMib = 1 << 20 };

static void* driver;
static int failed;

static void* function(const char* name) {
  void* found = dlsym(driver, name);
  if (found) return found;
  printf("FAIL libcuda has no %s\n", name);
  exit(1);
}
#define CALL(name, ...) ((int (*)(__VA_ARGS__))function(name))

static void check(int good, const char* what, unsigned long long seen, unsigned long long wanted) {
  printf("%s %s: %llu, wanted %llu\n", good ? "PASS" : "FAIL", what, seen, wanted);
  failed += !good;
}
static void must(int code, const char* what) {
  if (code == 0) return;
  printf("FAIL %s: CUDA error %d\n", what, code);
  exit(1);
}

/* This process's record; all zeros where there is none. */
static Record own(void) {
  Record record;
  memset(&record, 0, sizeof(record));
  const char* path = getenv("SMARTMIG_MEMORY_DIR");
  DIR* directory = path ? opendir(path) : NULL;
  char start[32];
  snprintf(start, sizeof(start), "%d-", (int)getpid());
  for (struct dirent* entry; directory && (entry = readdir(directory));) {
    if (strncmp(entry->d_name, start, strlen(start)) != 0) continue;
    const int file = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, &record, sizeof(record)) != (ssize_t)sizeof(record)) memset(&record, 0, sizeof(record));
    close(file);
  }
  if (directory) closedir(directory);
  return record;
}
static unsigned long long asked, most;
static void expect(const char* what) {
  if (asked > most) most = asked;
  check(own().now == asked, what, own().now, asked);
}

static void mapped(int device) {
  struct {
    int type, handle_types, location_type, location;
    void* security;
    unsigned char flags[8];
  } properties = {1, 0, 1, device, NULL, {0}};
  struct {
    int location_type, location, flags;
  } access = {1, device, 3};
  size_t step = 0;
  Address handles[2], base = 0;
  must(CALL("cuMemGetAllocationGranularity", size_t*, const void*, int)(&step, &properties, 0), "granularity");
  must(CALL("cuMemAddressReserve", Address*, size_t, size_t, Address, unsigned long long)(&base, 2 * step, 0, 0, 0),
       "cuMemAddressReserve");
  for (int i = 0; i < 2; ++i) {
    must(CALL("cuMemCreate", Address*, size_t, const void*, unsigned long long)(&handles[i], step, &properties, 0),
         "cuMemCreate");
    must(CALL("cuMemMap", Address, size_t, size_t, Address, unsigned long long)(base + (Address)i * step, step, 0,
                                                                                handles[i], 0),
         "cuMemMap");
    asked += step;
  }
  must(CALL("cuMemSetAccess", Address, size_t, const void*, size_t)(base, 2 * step, &access, 1), "cuMemSetAccess");
  expect("cuMemCreate and cuMemMap, bytes held");
  must(CALL("cuMemRelease", Address)(handles[0]), "cuMemRelease");
  expect("a released handle that is mapped, bytes held");
  Address again = 0;
  must(CALL("cuMemRetainAllocationHandle", Address*, void*)(&again, (void*)(base + step)), "retain");
  check(again == handles[1], "cuMemRetainAllocationHandle gives the handle", again, handles[1]);
  must(CALL("cuMemUnmap", Address, size_t)(base, 2 * step), "cuMemUnmap");
  asked -= step;
  expect("after cuMemUnmap of both, bytes held");
  must(CALL("cuMemRelease", Address)(handles[1]), "cuMemRelease");
  expect("after the first release of a retained handle, bytes held");
  must(CALL("cuMemRelease", Address)(again), "cuMemRelease");
  asked -= step;
  expect("after its last release, bytes held");
  must(CALL("cuMemAddressFree", Address, size_t)(base, 2 * step), "cuMemAddressFree");
}

static void runtime(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("FAIL %s\n", dlerror());
    failed = 1;
    return;
  }
  int (*alloc)(void**, size_t) = (int (*)(void**, size_t))dlsym(library, "cudaMalloc");
  int (*alloc_async)(void**, size_t, void*) = (int (*)(void**, size_t, void*))dlsym(library, "cudaMallocAsync");
  int (*release)(void*) = (int (*)(void*))dlsym(library, "cudaFree");
  int (*entry)(const char*, void**, unsigned long long, int*) =
      (int (*)(const char*, void**, unsigned long long, int*))dlsym(library, "cudaGetDriverEntryPoint");
  void *a = NULL, *b = NULL;
  const unsigned long long before = own().allocations;
  must(alloc(&a, 10 * kMib), "cudaMalloc");
  must(alloc_async(&b, 20 * kMib, NULL), "cudaMallocAsync");
  asked += 30 * kMib;
  expect("cudaMalloc and cudaMallocAsync, bytes held");
  check(own().allocations == before + 2, "the runtime's call and the driver's below it are one; calls",
        own().allocations - before, 2);
  must(release(a), "cudaFree");
  must(release(b), "cudaFree");
  asked -= 30 * kMib;
  expect("after cudaFree, bytes held");
  int (*found)(Address*, size_t) = NULL;
  int status = 0;
  Address address = 0;
  if (entry && entry("cuMemAlloc", (void**)&found, 0, &status) == 0 && found) {
    must(found(&address, kMib), "cuMemAlloc");
    asked += kMib;
    expect("cuMemAlloc of cudaGetDriverEntryPoint, bytes held");
    must(release((void*)address), "cudaFree");
    asked -= kMib;
  }
  expect("at the runtime's end, bytes held");
}

static void all_ways(int device, size_t total) {
  Address p[8] = {0};
  size_t pitch = 0;
  void* pool = NULL;
  check(own().magic == 0, "no record before the first request, magic", own().magic, 0);
  must(CALL("cuMemAlloc_v2", Address*, size_t)(&p[0], 100 * (size_t)kMib), "cuMemAlloc");
  asked += 100 * (size_t)kMib;
  expect("cuMemAlloc, bytes held");
  check(own().pid == (unsigned)getpid(), "pid", own().pid, (unsigned)getpid());
  must(CALL("cuMemAllocPitch_v2", Address*, size_t*, size_t, size_t, unsigned)(&p[1], &pitch, 1000, 1000, 4), "pitch");
  asked += pitch * 1000;
  expect("cuMemAllocPitch, bytes held");
  must(CALL("cuMemAllocManaged", Address*, size_t, unsigned)(&p[2], 5 * kMib, 1), "cuMemAllocManaged");
  asked += 5 * kMib;
  expect("cuMemAllocManaged, bytes held");
  check(own().managed == 5 * kMib, "managed bytes", own().managed, 5 * kMib);
  must(CALL("cuMemAllocAsync", Address*, size_t, void*)(&p[3], 6 * kMib, NULL), "cuMemAllocAsync");
  asked += 6 * kMib;
  expect("cuMemAllocAsync, bytes held");
  must(CALL("cuDeviceGetDefaultMemPool", void**, int)(&pool, device), "cuDeviceGetDefaultMemPool");
  must(CALL("cuMemAllocFromPoolAsync", Address*, size_t, void*, void*)(&p[4], 7 * kMib, pool, NULL), "from pool");
  asked += 7 * kMib;
  expect("cuMemAllocFromPoolAsync, bytes held");
  int (*get)(const char*, void**, int, unsigned long long, int*) =
      (int (*)(const char*, void**, int, unsigned long long, int*))function("cuGetProcAddress_v2");
  int (*alloc)(Address*, size_t) = NULL;
  int (*alloc_async)(Address*, size_t, void*) = NULL;
  int status = 0;
  must(get("cuMemAlloc", (void**)&alloc, 12000, 0, &status), "cuGetProcAddress");
  must(get("cuMemAllocAsync", (void**)&alloc_async, 12000, 2, &status), "cuGetProcAddress");
  must(alloc(&p[5], 8 * kMib), "cuMemAlloc");
  must(alloc_async(&p[6], 9 * kMib, NULL), "cuMemAllocAsync");
  asked += 17 * kMib;
  expect("functions of cuGetProcAddress, bytes held");
  mapped(device);

  const size_t too_much = total + kMib;
  const int refused = ((int (*)(Address*, size_t))function("cuMemAlloc_v2"))(&p[7], too_much);
  const Record after = own();
  check(refused == 2, "a request beyond the device is refused with error", (unsigned)refused, 2);
  check(after.failures == 1, "failures", after.failures, 1);
  check(after.failed_request == too_much, "bytes of the refused request", after.failed_request, too_much);
  check(after.held_at_failure == asked, "bytes held at that moment", after.held_at_failure, asked);

  must(CALL("cuMemFreeAsync", Address, void*)(p[3], NULL), "cuMemFreeAsync");
  must(CALL("cuMemFreeAsync", Address, void*)(p[6], NULL), "cuMemFreeAsync");
  int (*release)(Address) = (int (*)(Address))function("cuMemFree_v2");
  must(release(p[0]) | release(p[1]) | release(p[2]) | release(p[4]) | release(p[5]), "cuMemFree");
  asked = 0;
  expect("after freeing all, bytes held");
  check(own().peak == most, "peak bytes", own().peak, most);
  check(own().untracked == 0, "requests untracked", own().untracked, 0);
}

static double pair_ns(size_t size, int asynchronous, int rounds) {
  int (*alloc)(Address*, size_t) = (int (*)(Address*, size_t))function("cuMemAlloc_v2");
  int (*release)(Address) = (int (*)(Address))function("cuMemFree_v2");
  int (*alloc_async)(Address*, size_t, void*) = (int (*)(Address*, size_t, void*))function("cuMemAllocAsync");
  int (*free_async)(Address, void*) = (int (*)(Address, void*))function("cuMemFreeAsync");
  struct timespec a, b;
  Address p = 0;
  for (int i = -rounds / 10; i < rounds; ++i) { /* the first tenth warms up */
    if (i == 0) clock_gettime(CLOCK_MONOTONIC, &a);
    must(asynchronous ? alloc_async(&p, size, NULL) : alloc(&p, size), "allocation");
    must(asynchronous ? free_async(p, NULL) : release(p), "free");
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / rounds;
}

int main(int count, char** arguments) {
  int device = 0, version = 0;
  void* context = NULL;
  size_t unused = 0, total = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    printf("FAIL no CUDA driver: %s\n", dlerror());
    return 1;
  }
  must(CALL("cuInit", unsigned)(0), "cuInit");
  must(CALL("cuDriverGetVersion", int*)(&version), "cuDriverGetVersion");
  must(CALL("cuDeviceGet", int*, int)(&device, 0), "cuDeviceGet");
  must(CALL("cuDevicePrimaryCtxRetain", void**, int)(&context, device), "cuDevicePrimaryCtxRetain");
  must(CALL("cuCtxSetCurrent", void*)(context), "cuCtxSetCurrent");
  must(CALL("cuMemGetInfo_v2", size_t*, size_t*)(&unused, &total), "cuMemGetInfo");
  if (count > 1 && strcmp(arguments[1], "cost") == 0) {
    printf("a request and its free: 4 KiB %.0f ns, 64 MiB %.0f ns, 4 KiB from the pool %.0f ns\n",
           pair_ns(4096, 0, 20000), pair_ns((size_t)64 << 20, 0, 500), pair_ns(4096, 1, 100000));
    return 0;
  }
  printf("CUDA %d.%d, device memory %zu MiB\n", version / 1000, version % 1000 / 10, total / kMib);
  all_ways(device, total);
  if (count > 2) runtime(arguments[2]);
  printf("%d checks failed\n", failed);
  return failed != 0;
}
