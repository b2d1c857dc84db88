// Requests of device memory whose size stands in the host's code: a call of cudaMalloc or its like on x86-64 before which
// the second argument is loaded with a constant. Seen by a short look back from each call, not by running anything, so
// that a size computed at run time is counted as unknown. What a loop asks for many times stands here once; what a branch
// never asks for stands here, too. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "model/cuda_program/elf_file.h"

namespace smartmig {

struct ConstantRequests {
  bool possible = false;             // x86-64, and functions that ask for memory were found
  std::vector<std::uint64_t> bytes;  // of each call with a constant, in the order of the code
  int unknown = 0;                   // calls whose size is not seen
};
ConstantRequests read_constant_requests(const ElfFile& elf);

}  // namespace smartmig
