// Judges early restarts on synthetic LLM jobs (llm_jobs.h): the loss from waiting for the failure, from the projection
// of device memory over time alone (memory/memory_projection.h), and from a job's words, its allocator and earlier runs
// in addition (memory/work_projection.h), without and with the framework's counter. Paired; deterministic for any number
// of threads.
#pragma once
#include <cstdint>

#include "research/papers/llm_jobs.h"
#include "research/papers/memory_study.h"
#include "research/papers/paper_report.h"
#include "research/papers/recorded_llm.h"

namespace smartmig {

inline constexpr int kRestartMethods = 4;

struct RestartStudyOptions {
  int cases = 20;  // per allocator and schedule
  std::uint64_t first_seed = 200'000;
  int threads = 1;
};
Foresight judge_llm_job(const LlmJob& job, RestartMethod method);
PaperReport restart_report(const RestartStudyOptions& options);
// The same methods on programs recorded on a GPU (recorded_llm.h).
Result<PaperSection> recorded_section(RecordedPart part, int threads);

}  // namespace smartmig
