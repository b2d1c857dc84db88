#include "serve/gpus/allocator_seen.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace smartmig {
namespace {

TEST(AllocatorSeen, ByLibrariesAndEnvironment) {
  const std::string torch = "7f00 r-xp /usr/lib/python3/torch/lib/libc10_cuda.so\n";
  EXPECT_EQ(allocator_of(torch, {}), AllocatorFamily::kCaching);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_ALLOC_CONF=backend:cudaMallocAsync"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of(torch, {"PYTORCH_NO_CUDA_MEMORY_CACHING=1"}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of("/x/libtensorflow_cc.so.2", {}), AllocatorFamily::kReserved);
  EXPECT_EQ(allocator_of("/x/libtensorflow_cc.so.2", {"TF_FORCE_GPU_ALLOW_GROWTH=true"}), AllocatorFamily::kDoubling);
  EXPECT_EQ(allocator_of("/x/xla_cuda_plugin.so", {"XLA_PYTHON_CLIENT_PREALLOCATE=false"}), AllocatorFamily::kDoubling);
  EXPECT_EQ(allocator_of("/usr/lib/libcuda.so.580", {}), AllocatorFamily::kPlain);
  EXPECT_EQ(allocator_of("/usr/lib/libc.so.6", {}), AllocatorFamily::kUnknown);
}

TEST(AllocatorSeen, OfThisProcessNothingIsSeen) {
  EXPECT_EQ(allocator_of_processes({std::uint32_t(getpid()), 0}), AllocatorFamily::kUnknown);
}

}  // namespace
}  // namespace smartmig
