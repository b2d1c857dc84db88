// smartmig slice-probe, started by `doctor --exercise` on a slice, not by hand: computes on the GPU that CUDA shows it,
// with the driver's own library and a kernel as text, so that nothing of CUDA is needed to build. Prints
// "ready DEVICES SMS MIB", then "did N" a few times a second, and ends with its standard input.
#include <dlfcn.h>
#include <poll.h>

#include <array>
#include <cstdio>

#include "cli/verbs.h"

namespace smartmig::cli {
namespace {

using Device = int;
using Handle = void*;
constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr unsigned int kThreads = 256, kBlocksOfSm = 8;
constexpr std::size_t kResultBytes = 1 << 20;

// Every thread multiplies and adds; what it computes is stored only if it is 0, which it never is.
constexpr const char* kKernel = R"(
.version 6.0
.target sm_60
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<3>;
  .reg .f32 %f<8>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %tid.x;
  add.u32 %r2, %r2, 1;
  cvt.rn.f32.u32 %f1, %r2;
  mov.f32 %f2, 0f3F7FFFFF;
  mov.f32 %f3, 0f3F000000;
  mov.f32 %f4, %f1;
  mov.f32 %f5, %f1;
  mov.f32 %f6, %f1;
again:
  fma.rn.f32 %f1, %f1, %f2, %f3;
  fma.rn.f32 %f4, %f4, %f2, %f3;
  fma.rn.f32 %f5, %f5, %f2, %f3;
  fma.rn.f32 %f6, %f6, %f2, %f3;
  fma.rn.f32 %f1, %f1, %f2, %f3;
  fma.rn.f32 %f4, %f4, %f2, %f3;
  fma.rn.f32 %f5, %f5, %f2, %f3;
  fma.rn.f32 %f6, %f6, %f2, %f3;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  add.f32 %f1, %f1, %f4;
  add.f32 %f1, %f1, %f5;
  add.f32 %f1, %f1, %f6;
  setp.neu.f32 %p2, %f1, 0f00000000;
  @%p2 bra over;
  cvta.to.global.u64 %rd2, %rd1;
  st.global.f32 [%rd2], %f1;
over:
  ret;
}
)";
constexpr unsigned int kRounds = 200'000;

struct CudaDriver {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  const char* failed = nullptr;  // the call that did
  int code = 0;

  template <class... Types, class... Args>
  bool call(const char* name, int (*)(Types...), Args... args) {
    if (failed) return false;
    const auto function = library ? reinterpret_cast<int (*)(Types...)>(::dlsym(library, name)) : nullptr;
    code = function ? function(args...) : -1;
    if (code != 0) failed = name;
    return code == 0;
  }
};

bool ended(int wait_ms) {
  pollfd input{0, POLLIN, 0};
  return ::poll(&input, 1, wait_ms) != 0;
}

}  // namespace

int run_slice_probe(const Arguments&) {
  using Init = int (*)(unsigned int);
  using Count = int (*)(int*);
  using Get = int (*)(Device*, int);
  using Attribute = int (*)(int*, int, Device);
  using Total = int (*)(std::size_t*, Device);
  using Context = int (*)(Handle*, unsigned int, Device);
  using Load = int (*)(Handle*, const void*);
  using Function = int (*)(Handle*, Handle, const char*);
  using Allocate = int (*)(unsigned long long*, std::size_t);
  using Launch = int (*)(Handle, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                         unsigned int, Handle, void**, void**);
  using Wait = int (*)();
  CudaDriver cuda;
  int devices = 0, sms = 0;
  Device device = 0;
  std::size_t bytes = 0;
  Handle context = nullptr, module = nullptr, kernel = nullptr;
  unsigned long long result = 0;
  cuda.call("cuInit", Init{}, 0u);
  cuda.call("cuDeviceGetCount", Count{}, &devices);
  cuda.call("cuDeviceGet", Get{}, &device, 0);
  cuda.call("cuDeviceGetAttribute", Attribute{}, &sms, kMultiprocessors, device);
  cuda.call("cuDeviceTotalMem_v2", Total{}, &bytes, device);
  cuda.call("cuCtxCreate_v2", Context{}, &context, 0u, device);
  cuda.call("cuModuleLoadData", Load{}, &module, static_cast<const void*>(kKernel));
  cuda.call("cuModuleGetFunction", Function{}, &kernel, module, "spin");
  cuda.call("cuMemAlloc_v2", Allocate{}, &result, kResultBytes);
  const auto tell = [&] {
    if (!cuda.library)
      std::printf("libcuda.so.1 was not found\n");
    else if (cuda.failed)
      std::printf("%s failed with CUDA error %d\n", cuda.failed, cuda.code);
    std::fflush(stdout);
    return cuda.failed ? 1 : 0;
  };
  if (cuda.failed) return tell();
  std::printf("ready %d %d %zu\n", devices, sms, bytes >> 20);
  std::fflush(stdout);
  unsigned int rounds = kRounds;
  void* parameters[] = {&result, &rounds};
  int waited = 0;
  for (long done = 0; !cuda.failed; ++done) {
    cuda.call("cuLaunchKernel", Launch{}, kernel, unsigned(sms) * kBlocksOfSm, 1u, 1u, kThreads, 1u, 1u, 0u, Handle{},
              static_cast<void**>(parameters), static_cast<void**>(nullptr));
    cuda.call("cuCtxSynchronize", Wait{});
    if (ended(0)) return 0;
    if (++waited < 4) continue;  // kernels take some tens of milliseconds
    waited = 0;
    std::printf("did %ld\n", done);
    if (std::fflush(stdout) != 0) return 0;
  }
  return tell();
}

}  // namespace smartmig::cli
