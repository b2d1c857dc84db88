// smartmig doctor --exercise GPU: runs live/gpu/exercise.h on a GPU of this machine, and prints and writes its report.
#pragma once
#include "cli/gpus/gpu_options.h"

namespace smartmig::cli {

struct ExerciseFlags {
  std::string gpu, output;
  double watch_s = 3;
  void declare(Command& cmd);
};

int run_exercise(const GpuOptions& options, const ExerciseFlags& flags);

}  // namespace smartmig::cli
