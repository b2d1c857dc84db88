/* The functions that are hooked. HOOK(symbol, name, first, last): `name` is what cuGetProcAddress calls it, for
 * programs written for CUDA versions first to last (1000 * major + 10 * minor); NULL: a function of the runtime. Later
 * versions are hooked where the driver answers with the very symbol. A symbol ending in _ptsz is what cuGetProcAddress
 * gives for the stream of each thread. */
#define KNOWN 13999
#define HOOKS(HOOK)                                                              \
  HOOK(cuInit, "cuInit", 2000, KNOWN)                                            \
  HOOK(cuMemAlloc_v2, "cuMemAlloc", 3020, KNOWN)                                 \
  HOOK(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, KNOWN)                       \
  HOOK(cuMemAllocManaged, "cuMemAllocManaged", 6000, KNOWN)                      \
  HOOK(cuMemAllocAsync, "cuMemAllocAsync", 11020, KNOWN)                         \
  HOOK(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, KNOWN)                    \
  HOOK(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, KNOWN)         \
  HOOK(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, KNOWN)    \
  HOOK(cuMemFree_v2, "cuMemFree", 3020, KNOWN)                                   \
  HOOK(cuMemFreeAsync, "cuMemFreeAsync", 11020, KNOWN)                           \
  HOOK(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, KNOWN)                      \
  HOOK(cuMemCreate, "cuMemCreate", 10020, KNOWN)                                 \
  HOOK(cuMemRelease, "cuMemRelease", 10020, KNOWN)                               \
  HOOK(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000, KNOWN) \
  HOOK(cuMemMap, "cuMemMap", 10020, KNOWN)                                       \
  HOOK(cuMemUnmap, "cuMemUnmap", 10020, KNOWN)                                   \
  HOOK(cuGetProcAddress, "cuGetProcAddress", 11030, 11999)                       \
  HOOK(cuGetProcAddress_v2, "cuGetProcAddress", 12000, KNOWN)                    \
  HOOK(cudaMalloc, NULL, 0, 0)                                                   \
  HOOK(cudaMallocPitch, NULL, 0, 0)                                              \
  HOOK(cudaMallocManaged, NULL, 0, 0)                                            \
  HOOK(cudaMallocAsync, NULL, 0, 0)                                              \
  HOOK(cudaMallocAsync_ptsz, NULL, 0, 0)                                         \
  HOOK(cudaMallocFromPoolAsync, NULL, 0, 0)                                      \
  HOOK(cudaMallocFromPoolAsync_ptsz, NULL, 0, 0)                                 \
  HOOK(cudaFree, NULL, 0, 0)                                                     \
  HOOK(cudaFreeAsync, NULL, 0, 0)                                                \
  HOOK(cudaFreeAsync_ptsz, NULL, 0, 0)
