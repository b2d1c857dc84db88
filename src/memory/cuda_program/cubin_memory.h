// What a cubin (an ELF file of GPU code) takes of the device's memory when it is loaded: static arrays, constants,
// code. Also how much local memory each kernel needs per thread. Section names and attributes (.nv.global, .nv.info
// with EIATTR_FRAME_SIZE and EIATTR_MIN_STACK_SIZE) are as ptxas writes them and cuobjdump -elf prints them. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct KernelMemory {
  std::string name;            // mangled
  std::uint64_t local = 0;     // bytes per thread: its frame or its least stack, whichever is larger
  bool dynamic_stack = false;  // recursion or calls through pointers: the stack has no known size
};
struct CubinMemory {
  std::uint64_t arrays = 0;     // __device__ and __managed__ variables, bytes
  std::uint64_t constants = 0;  // __constant__ variables and kernel parameters, bytes
  std::uint64_t code = 0;
  std::vector<KernelMemory> kernels;  // sorted by name
  std::uint64_t total() const { return arrays + constants + code; }
  const KernelMemory* hungriest() const;  // nullptr: no kernel has local memory
};
Result<CubinMemory> read_cubin(const std::string& name, std::string_view bytes);

}  // namespace smartmig
