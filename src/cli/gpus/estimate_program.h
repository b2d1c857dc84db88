// smartmig estimate ./program: prints the GPU memory that can be read from the file of a CUDA program, as a table or
// JSON.
#pragma once
#include <string>

#include "memory/cuda_program/program_memory.h"
#include "mig/gpu_model.h"

namespace smartmig::cli {

struct ProgramQuestion {
  std::string path;
  double margin_percent = 10, overhead_mib = 512;
  bool json = false;
};
// Prints; the exit code: 1 where no slice is large enough or the file cannot be read.
int estimate_program(const ProgramQuestion& question, const GpuModel& gpu);

}  // namespace smartmig::cli
