// Batches of jobs as in MIGM's experiment (arXiv 2508.18556): general, machine learning and LLM inference, with memory
// that is unknown in advance and often grows, made from the available data:
//
//   general*   Rodinia kernels measured on an A30 (research/data/migm.csv): slices of 1, 2 and 4 have the SMs of the
//              A100's; 3 and 7 are interpolated linearly, and no slice is slower than a smaller one. Memory and watts
//              are not recorded; they are assumed here.
//   ml*        MISO's training curves and memory; "ml" also ParvaGPU's inference curves, measured on an A100-80GB, made
//              to rise, with memory assumed. Watts of training are MISO's.
//   llm*       LLM decoding measured on an H200 under MPS, one process at a time; "llm-shared" and "llm-long" include
//              the contention of simultaneous copies. Memory starts at the model's and grows with its cache.
//
// A job's true behaviour is its script (live/emulation/emulated_script.h). The daemon is told its time on the whole GPU
// and, if requested, its kind. Pure functions of (name, seed, count); base/rng.h. Units: seconds, MiB, watts; speeds
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
  double printed_throughput, printed_energy;  // MIGM's best in the group
};
std::span<const BatchKind> batch_kinds();

struct BatchJob {
  std::string kind;                               // in the table of its speeds
  bool profiled = false;                          // the speed table has it on this GPU, so the daemon may be told
  double whole_s = 0;                             // on the whole GPU
  std::array<double, kMaxComputeSlices> speed{};  // by compute slices - 1, relative to the whole GPU; 0: no such size
  std::string watts_like;                         // row of the power table with its watts
  std::vector<std::pair<double, double>> memory;
  double peak_mib() const;
  EmulatedScript script() const;
};

// kInvalid: no such batch, or a count outside 1 to 10,000.
Result<std::vector<BatchJob>> make_batch(std::string_view name, std::uint64_t seed, int count);

// The greatest possible speed-up of the jobs on slices of this model over one at a time on the whole GPU, with known
// memory and perfect packing: jobs may be split over sizes; neither compute slices nor memory slices may run out.
double throughput_bound(const std::vector<BatchJob>& jobs, const GpuModel& model);

}  // namespace smartmig
