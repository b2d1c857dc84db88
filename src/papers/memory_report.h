// `smartmig reproduce memory`: foreseeing that a job will not fit, ours against a straight line and against waiting for
// the failure. See reproduce.cc and papers/memory_study.h.
#pragma once
#include <cstdint>

namespace smartmig::cli {

struct MemoryTableOptions {
  std::int64_t cases = 60;  // per family
  int threads = 1;
  bool json = false;
};
int reproduce_memory(const MemoryTableOptions& options);

}  // namespace smartmig::cli
