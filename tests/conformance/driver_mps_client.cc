// A CUDA client for the tests of soft slices: opens libcuda at run time, says how many SMs it sees and how much device
// memory it can allocate, then holds it until its standard input ends. Changes nothing but its own context.
//   driver_mps_client [MIB]      allocates up to MIB (default: until refused); exit 0, or 1 when CUDA does not work
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

using Result = int;
constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr std::size_t kChunk = std::size_t(512) << 20;

template <class F>
F load(void* library, const char* name) {
  F function = reinterpret_cast<F>(::dlsym(library, name));
  if (!function) {
    std::printf("libcuda has no %s\n", name);
    std::exit(1);
  }
  return function;
}

void must(Result code, const char* what) {
  if (code == 0) return;
  std::printf("%s failed with CUDA error %d\n", what, code);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t most = argc > 1 ? std::size_t(std::atoll(argv[1])) << 20 : ~std::size_t(0);
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    std::printf("no CUDA driver: %s\n", ::dlerror());
    return 1;
  }
  must(load<Result (*)(unsigned)>(library, "cuInit")(0), "cuInit");
  int device = 0, sms = 0;
  void* context = nullptr;
  must(load<Result (*)(int*, int)>(library, "cuDeviceGet")(&device, 0), "cuDeviceGet");
  must(load<Result (*)(void**, unsigned, int)>(library, "cuCtxCreate_v2")(&context, 0, device), "cuCtxCreate");
  must(load<Result (*)(int*, int, int)>(library, "cuDeviceGetAttribute")(&sms, kMultiprocessors, device),
       "cuDeviceGetAttribute");
  std::size_t free_bytes = 0, total_bytes = 0;
  must(load<Result (*)(std::size_t*, std::size_t*)>(library, "cuMemGetInfo_v2")(&free_bytes, &total_bytes),
       "cuMemGetInfo");
  const auto allocate = load<Result (*)(unsigned long long*, std::size_t)>(library, "cuMemAlloc_v2");
  std::size_t held = 0;
  Result refused = 0;
  for (std::size_t chunk = kChunk; chunk >= std::size_t(1) << 20 && held < most;) {
    unsigned long long address = 0;
    refused = allocate(&address, chunk);
    if (refused == 0)
      held += chunk;
    else
      chunk /= 2;
  }
  std::printf("pid %d sms %d total_mib %zu free_mib %zu allocated_mib %zu last_error %d\n", int(::getpid()), sms,
              total_bytes >> 20, free_bytes >> 20, held >> 20, refused);
  std::fflush(stdout);
  char byte;
  while (::read(0, &byte, 1) > 0) {
  }
  load<Result (*)(void*)>(library, "cuCtxDestroy_v2")(context);
  return 0;
}
