#include "serve/gpus/allocator_seen.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "live/kernel_text.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostProcesses = 4;

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& one : environment)
    if (one.size() > name.size() && one.compare(0, name.size(), name) == 0 && one[name.size()] == '=')
      return std::string_view(one).substr(name.size() + 1);
  return {};
}

}  // namespace

AllocatorFamily allocator_of(std::string_view libraries, const std::vector<std::string>& environment) {
  const auto loaded = [&](std::string_view name) { return libraries.find(name) != libraries.npos; };
  const auto says = [&](std::string_view name, std::string_view what) {
    return value_in(environment, name).find(what) != std::string_view::npos;
  };
  if (loaded("libc10_cuda") || loaded("libtorch_cuda")) {
    bool plain = !value_in(environment, "PYTORCH_NO_CUDA_MEMORY_CACHING").empty();
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
      plain |= says(name, "expandable_segments:True") || says(name, "cudaMallocAsync");
    return plain ? AllocatorFamily::kPlain : AllocatorFamily::kCaching;
  }
  if (loaded("xla_extension") || loaded("jax_cuda") || loaded("xla_cuda_plugin"))
    return says("XLA_PYTHON_CLIENT_PREALLOCATE", "false") ? AllocatorFamily::kDoubling : AllocatorFamily::kReserved;
  if (loaded("libtensorflow"))
    return says("TF_FORCE_GPU_ALLOW_GROWTH", "true") ? AllocatorFamily::kDoubling : AllocatorFamily::kReserved;
  return loaded("libcuda.so") || loaded("libcudart") ? AllocatorFamily::kPlain : AllocatorFamily::kUnknown;
}

AllocatorFamily allocator_of_processes(const std::vector<std::uint32_t>& pids) {
  std::string all;
  std::vector<std::string> environment;
  for (std::size_t i = 0; i < pids.size() && i < kMostProcesses; ++i) {
    all += text_of_kernel(fmt::format("/proc/{}/maps", pids[i]));
    std::ifstream variables(fmt::format("/proc/{}/environ", pids[i]));
    for (std::string one; std::getline(variables, one, '\0');) environment.push_back(std::move(one));
  }
  return allocator_of(all, environment);
}

}  // namespace smartmig
