/* A program linked to the runtime and the driver; prints what the driver holds at the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
typedef unsigned long long Address;
int cudaMalloc(void** out, size_t size);
int cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height);
int cudaMallocManaged(void** out, size_t size, unsigned flags);
int cudaMallocAsync(void** out, size_t size, void* stream);
int cudaMallocAsync_ptsz(void** out, size_t size, void* stream);
int cudaMallocFromPoolAsync(void** out, size_t size, void* pool, void* stream);
int cudaFree(void* address);
int cudaFreeAsync(void* address, void* stream);
int cudaFreeAsync_ptsz(void* address, void* stream);
int cuMemAlloc_v2(Address* out, size_t size);
int cuMemFree_v2(Address address);
size_t stub_held(void);
size_t stub_peak(void);
int cuInit(unsigned flags);
const char* stub_device(void);

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "init") == 0) {
    const int begun = cuInit(0);
    printf("code %d device %s\n", begun, stub_device());
    return 0;
  }
  void* p[6] = {0};
  Address q = 0;
  size_t pitch = 0;
  int code = cudaMalloc(&p[0], 1000);
  const int seen = errno;
  code |= cudaMallocPitch(&p[1], &pitch, 1000, 10);
  code |= cudaMallocManaged(&p[2], 3000, 1);
  code |= cudaMallocAsync(&p[3], 4000, NULL);
  code |= cudaMallocFromPoolAsync(&p[4], 5000, NULL, NULL);
  code |= cudaMallocAsync_ptsz(&p[5], 6000, NULL);
  code |= cuMemAlloc_v2(&q, 7000);
  code |= cudaFree(p[0]) | cudaFreeAsync(p[3], NULL) | cudaFreeAsync_ptsz(p[5], NULL) | cuMemFree_v2(q);
  code |= cudaFree(NULL);
  const int refused = cudaMalloc(&p[0], (size_t)1 << 40);
  const int wrong = cudaFree((void*)0x1234);
  printf("code %d errno %d refused %d wrong %d held %zu peak %zu\n", code, seen, refused, wrong, stub_held(),
         stub_peak());
  fflush(stdout);
  return 0;
}
