// Finds requests of device memory whose size is a constant in the host's code: an x86-64 call of cudaMalloc or its like
// whose second argument is loaded with a constant. It looks back a little from each call and runs nothing, so a size
// computed at run time counts as unknown. A request in a loop counts once; a request in a branch that never runs counts
// too. Pure.
#pragma once
#include <cstdint>
#include <vector>

#include "memory/cuda_program/elf_file.h"

namespace smartmig {

struct ConstantRequests {
  bool possible = false;             // the file is x86-64 code and calls functions that ask for memory
  std::vector<std::uint64_t> bytes;  // one for each call with a constant, in the order of the code
  int unknown = 0;                   // calls whose size is not visible
};
ConstantRequests read_constant_requests(const ElfFile& elf);

}  // namespace smartmig
