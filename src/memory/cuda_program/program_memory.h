// GPU memory of a CUDA program as its file tells it, before the program ever runs: the compile-time side of MIGM (arXiv
// 2508.18556). The figure is a lower bound. It omits requests whose size is computed at run time, memory of libraries,
// and compressed parts; `unread` names each omission. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct ProgramMemory {
  std::uint64_t arrays = 0, constants = 0, code = 0;  // over all modules; for each, the architecture that takes least
  std::uint64_t local_per_thread = 0;                 // of the kernel with the largest frame
  std::string local_kernel;
  std::uint64_t requests = 0;  // the constant sizes of memory requests, each call once
  int request_calls = 0, unknown_calls = 0;
  int modules = 0, kernels = 0;
  std::vector<int> architectures;   // of the cubins that were read, ascending
  std::vector<std::string> unread;  // in words
  // CUDA sets local memory aside for every thread that the slice can hold: SMs x 2048 threads.
  std::uint64_t local(int sms) const { return local_per_thread * std::uint64_t(sms) * 2048; }
};
// `bytes`: a host program or library with fat binaries, a cubin, or a single fat binary.
Result<ProgramMemory> read_program_memory(const std::string& name, std::string_view bytes);

}  // namespace smartmig
