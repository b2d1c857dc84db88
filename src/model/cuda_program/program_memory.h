// GPU memory of a CUDA program by what its file says, before it ever ran: the compile-time side of MIGM (arXiv 2508.18556).
// Always "at least": what is asked for at run time with computed sizes, what libraries take, and what is compressed are not
// in the figure, and each is named in `unread`. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct ProgramMemory {
  std::uint64_t arrays = 0, constants = 0, code = 0;  // of all modules; of each the architecture that takes least
  std::uint64_t local_per_thread = 0;                 // of the kernel with the largest frame
  std::string local_kernel;
  std::uint64_t requests = 0;  // constant sizes of calls that ask for memory, each once
  int request_calls = 0, unknown_calls = 0;
  int modules = 0, kernels = 0;
  std::vector<int> architectures;   // of cubins that were read, ascending
  std::vector<std::string> unread;  // in words
  // Local memory is set aside for every thread that the slice can hold: SMs x 2048 threads.
  std::uint64_t local(int sms) const { return local_per_thread * std::uint64_t(sms) * 2048; }
};
// `bytes`: a host program or library with fat binaries, a cubin, or a fat binary by itself.
Result<ProgramMemory> read_program_memory(const std::string& name, std::string_view bytes);

}  // namespace smartmig
