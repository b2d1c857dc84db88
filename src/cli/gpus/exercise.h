// smartmig doctor --exercise GPU: live/gpu/exercise.h with this machine's GPU, its report printed and written.
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
