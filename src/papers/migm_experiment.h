// `smartmig reproduce c`: MIGM's experiment on emulated A100s, through the whole daemon. See reproduce.cc,
// papers/migm_batches.h and papers/batch_experiment.h.
#pragma once
#include <cstdint>
#include <string>

namespace smartmig::cli {

struct MigmOptions {
  std::string gpus = "1xa100-40gb";
  std::string batch;                  // one only
  std::int64_t batches = 5;           // seeds
  std::int64_t jobs = 28;             // of a batch
  std::int64_t first_seed = 205'000;  // of the report seeds those that nothing was set by
  bool json = false;
};
int reproduce_c(const MigmOptions& options);

}  // namespace smartmig::cli
