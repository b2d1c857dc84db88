/* A runtime for the tests, built as libcudart.so.12 and as libcudart.so.11.0 with their symbol versions. It asks the
 * driver for its functions as the real one does. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long Address;

static int served;
int RUNTIME_SERVED(void) { return served; } /* a name for each build: who answered a call */

/* Through its own ways, as for every function; the driver is initialised by the first call. */
static void* driver_function(const char* name, unsigned long long flags) {
  void *found = NULL, *init = NULL;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
#if RUNTIME_VERSION >= 12000
  int (*get)(const char*, void**, int, unsigned long long, int*) = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
  int status = 0;
  if (get) get("cuInit", &init, RUNTIME_VERSION, flags, &status);
  if (get) get(name, &found, RUNTIME_VERSION, flags, &status);
#else
  int (*get)(const char*, void**, int, unsigned long long) = driver ? dlsym(driver, "cuGetProcAddress") : NULL;
  if (get) get("cuInit", &init, RUNTIME_VERSION, flags);
  if (get) get(name, &found, RUNTIME_VERSION, flags);
#endif
  if (!found || !init || ((int (*)(unsigned))init)(0) != 0) {
    fprintf(stderr, "stub runtime: no %s\n", name);
    abort();
  }
  ++served;
  return found;
}

int cudaMalloc(void** out, size_t size) {
  return ((int (*)(Address*, size_t))driver_function("cuMemAlloc", 0))((Address*)out, size);
}
int cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  return ((int (*)(Address*, size_t*, size_t, size_t, unsigned))driver_function("cuMemAllocPitch", 0))(
      (Address*)out, pitch, width, height, 4);
}
int cudaMallocManaged(void** out, size_t size, unsigned flags) {
  return ((int (*)(Address*, size_t, unsigned))driver_function("cuMemAllocManaged", 0))((Address*)out, size, flags);
}
int cudaMallocAsync(void** out, size_t size, void* stream) {
  return ((int (*)(Address*, size_t, void*))driver_function("cuMemAllocAsync", 0))((Address*)out, size, stream);
}
int cudaMallocAsync_ptsz(void** out, size_t size, void* stream) {
  return ((int (*)(Address*, size_t, void*))driver_function("cuMemAllocAsync", 2))((Address*)out, size, stream);
}
int cudaMallocFromPoolAsync(void** out, size_t size, void* pool, void* stream) {
  return ((int (*)(Address*, size_t, void*, void*))driver_function("cuMemAllocFromPoolAsync", 0))((Address*)out, size,
                                                                                                  pool, stream);
}
int cudaFree(void* address) { return ((int (*)(Address))driver_function("cuMemFree", 0))((Address)address); }
int cudaFreeAsync(void* address, void* stream) {
  return ((int (*)(Address, void*))driver_function("cuMemFreeAsync", 0))((Address)address, stream);
}
int cudaFreeAsync_ptsz(void* address, void* stream) {
  return ((int (*)(Address, void*))driver_function("cuMemFreeAsync", 2))((Address)address, stream);
}
int cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags, int* status) {
  *out = driver_function(name, flags);
  if (status) *status = 0;
  return 0;
}
