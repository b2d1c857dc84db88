// MIGM's experiment (arXiv 2508.18556) on emulated A100s, through the whole daemon: batches of jobs of unknown memory
// (migm_batches.h) with one job at a time, with MIGM's two schedulers and with ours. batch_experiment.h runs each.
#pragma once
#include "base/result.h"
#include "research/papers/paper_report.h"

namespace smartmig {

struct MigmOptions {
  std::string gpus = "1xa100-40gb";
  std::string batch;                  // only this batch or group
  std::int64_t batches = 5;           // seeds
  std::int64_t jobs = 28;             // per batch
  std::int64_t first_seed = 205'000;  // report seeds that did not serve to choose any setting
};
inline constexpr const char* kMigmWords =  // explains its tables; whole lines
    "by speed: a job's watts above idle are the whole GPU's in proportion to its speed, as measured on an H200 for "
    "decoding (seven at once: 1.65x the\n"
    "throughput, 1.72x the watts above idle). by slices: the boards' counters, watts in proportion to busy slices, "
    "which flatters small ones.\n"
    "of most: of what the curves allow, compute and memory slices counted, memory known, packing perfect; by speed only "
    "idle watts can be won.\n"
    "migm-a and migm-b restart early by a line to the last iteration, whose number they are told; ours: best is told "
    "nothing but the time on the whole GPU.\n"
    "turnaround: from submit to end, mean over jobs. memory used: mean share of the GPU's that jobs hold. operations: "
    "slices made and destroyed.\n"
    "lost: seconds of attempts that were restarted.\n";

// kInvalid: GPUs without these curves, or an unknown batch.
Result<Ok> check_options(const MigmOptions& options);
// One part for each kind of batch. REQUIRES: valid options.
std::vector<PaperPart> migm_parts(const MigmOptions& options);
Result<PaperReport> migm_report(const MigmOptions& options, const PaperProgress& progress);

}  // namespace smartmig
