// Early restarts judged on made LLM jobs (llm_jobs.h): what is lost by waiting for the failure, by the projection of device memory
// over time alone (model/memory_projection.h), and by a job's words, its allocator and earlier runs besides
// (model/work_projection.h). Paired; deterministic for any number of threads.
#pragma once
#include <cstdint>

#include "papers/llm_jobs.h"
#include "papers/memory_study.h"
#include "papers/paper_report.h"

namespace smartmig {

enum class RestartMethod : std::uint8_t { kWork, kTime, kWait };
inline constexpr int kRestartMethods = 3;

struct RestartStudyOptions {
  int cases = 20;  // of each allocator and schedule
  std::uint64_t first_seed = 200'000;
  int threads = 1;
};
Foresight judge_llm_job(const LlmJob& job, RestartMethod method);
PaperReport restart_report(const RestartStudyOptions& options);

}  // namespace smartmig
