// Batches of jobs as in MIGM's experiment (arXiv 2508.18556): general, machine learning and LLM inference, memory not
// known beforehand and often growing, made from the data there is:
//
//   general*   Rodinia kernels measured on an A30 (research/data/migm.csv): slices of 1, 2 and 4 have the SMs of the A100's;
//              3 and 7 lie on the straight lines through them, and no slice is slower than a smaller one. Memory and
//              watts are not recorded and assumed here.
//   ml*        MISO's training curves and memory; "ml" also ParvaGPU's inference curves, measured on an A100-80GB, made
//              to rise, with memory assumed. Watts of training are MISO's.
//   llm*       LLM decoding measured on an H200 under MPS, one process at a time; "llm-shared" and "llm-long" with what
//              copies at the same time take from each other. Memory starts at the model's and grows with its cache.
//
// What a job really does is its script (live/emulation/emulated_script.h); the daemon is told its time on the whole GPU
// and, where asked for, its kind. Pure functions of (name, seed, count); base/rng.h. Units: seconds, MiB, watts; speeds
// are relative to the whole GPU.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/emulation/emulated_script.h"
#include "mig/gpu_model.h"

namespace smartmig {

struct BatchKind {
  const char* name;
  const char* group;  // "general", "ml", "llm"
  const char* words;
  double printed_throughput, printed_energy;  // MIGM's best of the group
};
std::span<const BatchKind> batch_kinds();

struct BatchJob {
  std::string kind;                               // of the table its speeds are from
  bool profiled = false;                          // the speed table has it on this GPU: the daemon may be told
  double whole_s = 0;                             // on the whole GPU
  std::array<double, kMaxComputeSlices> speed{};  // by compute slices - 1, over that of the whole GPU; 0: no such size
  std::string watts_like;                         // row of the power table that gives its watts
  std::vector<std::pair<double, double>> memory;
  double peak_mib() const;
  EmulatedScript script() const;
};

// kInvalid: no such batch, or a count out of 1 to 10,000.
Result<std::vector<BatchJob>> make_batch(std::string_view name, std::uint64_t seed, int count);

// How much faster than one at a time on the whole GPU the jobs could be at most on slices of this model, memory known,
// packing perfect: jobs may be split over sizes, compute slices and memory slices are counted, and neither may run out.
double throughput_bound(const std::vector<BatchJob>& jobs, const GpuModel& model);

}  // namespace smartmig
