// CUDA programs, cubins and fat binaries: never crashes, and every sum that comes out is one that a machine could have.
// A first byte of 0xFA repairs the head of what follows into that of a fat binary, so that its parts are reached.
#include <string>

#include "base/check.h"
#include "fuzz/target.h"
#include "memory/cuda_program/program_memory.h"

SMARTMIG_FUZZ_TARGET(cuda_program) {
  using namespace smartmig;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 20 && data[0] == 0xFA) {
    bytes.erase(0, 1);
    bytes.replace(0, 8, std::string("\x50\xed\x55\xba\x01\x00\x10\x00", 8));
  }
  const auto memory = read_program_memory("fuzz", bytes);
  if (!memory) {
    SMARTMIG_CHECK(!memory.error().what.empty(), "an error without words");
    return 0;
  }
  constexpr std::uint64_t kMost = std::uint64_t(1) << 50;
  SMARTMIG_CHECK(memory->arrays <= kMost && memory->constants <= kMost && memory->code <= kMost, "static memory");
  SMARTMIG_CHECK(memory->requests <= kMost && memory->local_per_thread <= 0xFFFFFFFF, "requests and local memory");
  SMARTMIG_CHECK(memory->request_calls >= 0 && memory->unknown_calls >= 0 && memory->unread.size() <= 40, "counts");
  return 0;
}
