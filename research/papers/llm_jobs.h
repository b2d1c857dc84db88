// LLM jobs made from a seed, for the study of early restarts (restart_study.h): sizes of a known model, a schedule of
// its work, an allocator (allocators.h), its printed words, and earlier runs of the same command on other input.
// Running a job through its allocator on a slice with some memory shows what the device shows, what its tensors hold,
// and whether memory is refused. Pure functions of the seed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "memory/work_projection.h"
#include "research/papers/allocators.h"

namespace smartmig {

enum class LlmSchedule : std::uint8_t {
  kDecode,       // token by token; keys and values are kept
  kChat,         // the same in turns, with pauses
  kRequests,     // requests of random lengths, each with its own cache
  kPrefixCache,  // requests whose keys and values stay
  kLengths,      // training on batches of random lengths
  kCurriculum,   // training on sequences that grow stage by stage, by the same amount or factor
  kBatchRamp,    // training with a growing batch
  kSteady        // training with equal steps
};
inline constexpr int kLlmSchedules = 8;
const char* name_of(LlmSchedule schedule);
// Nobody trains in a paged server. Programs compiled for fixed shapes, which therefore reserve, have few of them.
bool possible(LlmSchedule schedule, AllocatorKind allocator);

struct LlmJob {
  struct Point {            // at equal steps of time
    double size = -1;       // of its work: tokens, length or batch; below 0: it is loading
    std::int64_t done = 0;  // tokens, requests or steps
    bool fresh = false;     // whether a request begins
  };
  LlmSchedule schedule{};
  AllocatorKind allocator{};
  std::uint64_t seed = 0;
  std::string model;
  std::vector<Point> points;
  double size_max = 0;                   // an upper bound on the lengths
  std::int64_t of = 0;                   // `done` at the end
  double weights_mib = 0, per_size = 0;  // per_size: MiB per unit of size
  double squared = 0;                    // share of that which grows with the square, as attention scores do
  int parts = 16;                        // number of tensors that hold it
  bool joins = false;                    // caches are copied to longer ones, not extended
  bool says_size = false, says_max = false, says_done = false, says_of = false, says_memory = false;
  double duration_s = 0, expected_s = 0, restart_s = 0;  // expected: as told; 0: not told
  std::size_t first_slice = 0;                           // index into memory_ladder()
  std::vector<PastWork> past, past_asked;                // the same runs, without and with the framework's counter
  AllocatorFamily family = AllocatorFamily::kUnknown;    // judged by its libraries
  double at(std::size_t i) const { return duration_s * double(i + 1) / double(points.size()); }
  bool prints() const { return says_size || says_done || says_memory; }
};
inline constexpr std::size_t kLlmPoints = 800, kLlmSampleEvery = 4;

LlmJob make_llm_job(LlmSchedule schedule, AllocatorKind allocator, std::uint64_t seed);

struct LlmTrace {
  std::vector<double> device_mib, held_mib;  // at every point before the failure; both include the context
  std::vector<double> held_peak_mib;         // so far
  bool failed = false;
};
LlmTrace run_on(const LlmJob& job, double slice_mib);
// `asked`: with the framework's counter of the most held. For a paged server that is the whole pool, so it is not
// asked.
WorkSample sample_of(const LlmJob& job, const LlmTrace& trace, std::size_t point, bool asked);

}  // namespace smartmig
