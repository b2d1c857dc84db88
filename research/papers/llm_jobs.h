// LLM jobs made from a seed, for the study of early restarts (restart_study.h): sizes of a known model, a schedule of its work,
// an allocator (allocators.h), what it prints, and earlier runs of the same command on other input. A job is run through its
// allocator on a slice of so much memory: what the device shows, what its tensors hold, and whether it is refused memory.
// Pure functions of the seed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/work_projection.h"
#include "research/papers/allocators.h"

namespace smartmig {

enum class LlmSchedule : std::uint8_t {
  kDecode,       // tokens one by one; keys and values are kept
  kChat,         // the same in turns with pauses
  kRequests,     // requests of random lengths, each with a cache of its own
  kPrefixCache,  // requests whose keys and values stay
  kLengths,      // training on batches of random lengths
  kCurriculum,   // training on sequences that grow stage by stage, by as much or by a factor
  kBatchRamp,    // training with a growing batch
  kSteady        // training, every step the same
};
inline constexpr int kLlmSchedules = 8;
const char* name_of(LlmSchedule schedule);
// Nobody trains in a paged server; programs that are compiled for their shapes, and so reserve, have few of them.
bool possible(LlmSchedule schedule, AllocatorKind allocator);

struct LlmJob {
  struct Point {            // at equal steps of time
    double size = -1;       // of its work: tokens, length or batch; below 0: it loads
    std::int64_t done = 0;  // tokens, requests or steps
    bool fresh = false;     // a request begins
  };
  LlmSchedule schedule{};
  AllocatorKind allocator{};
  std::uint64_t seed = 0;
  std::string model;
  std::vector<Point> points;
  double size_max = 0;                   // no length is above it
  std::int64_t of = 0;                   // `done` at the end
  double weights_mib = 0, per_size = 0;  // MiB of a unit of size
  double squared = 0;                    // share of that which grows with the square, as of attention's scores
  int parts = 16;                        // tensors that it lies in
  bool joins = false;                    // caches are made anew and longer, not added to
  bool says_size = false, says_max = false, says_done = false, says_of = false, says_memory = false;
  double duration_s = 0, expected_s = 0, restart_s = 0;  // expected: as told; 0: nothing
  std::size_t first_slice = 0;                           // of memory_ladder()
  std::vector<PastWork> past, past_asked;                // the same runs, without and with what the framework says
  AllocatorFamily family = AllocatorFamily::kUnknown;    // as its libraries tell
  double at(std::size_t i) const { return duration_s * double(i + 1) / double(points.size()); }
  bool prints() const { return says_size || says_done || says_memory; }
};
inline constexpr std::size_t kLlmPoints = 800, kLlmSampleEvery = 4;

LlmJob make_llm_job(LlmSchedule schedule, AllocatorKind allocator, std::uint64_t seed);

struct LlmTrace {
  std::vector<double> device_mib, held_mib;  // at every point before the failure; the context is in both
  std::vector<double> held_peak_mib;         // so far
  bool failed = false;
};
LlmTrace run_on(const LlmJob& job, double slice_mib);
// `asked`: with what the framework counts as held at the most. Of a paged server that is the whole pool, and not asked.
WorkSample sample_of(const LlmJob& job, const LlmTrace& trace, std::size_t point, bool asked);

}  // namespace smartmig
