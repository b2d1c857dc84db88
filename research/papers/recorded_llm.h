// LLM programs recorded on an H200 under several allocators (data/llm_runs*.csv, llm_series*.csv;
// bench/hardware/record_llm.py), as cases for the study of early restarts: what the device showed, what tensors held,
// and the printed lines, read as the daemon reads them (memory/work_words.h). The framework, when asked, gives the most
// that was held.
//
// A case is a run on a slice. In recorded cases, the program's own allocator limited its memory. A run that ended well
// also stands for slices that it never filled (it fits), and for those where the held memory passed the limit within 3
// % of the run after the device's figure had (it then fails). Between the two, an allocator would have returned its
// cache, and what follows is unknown. Runs of 5 to 30 s are stretched to 2 minutes to 2 hours. Each case is judged
// without earlier runs, and with those of its command that ended well on other input.
//
// Groups (a command under an allocator) of the first round are numbered 0 and 1; they served to choose constants
// (kTuning). Those of the second are numbered from 2: other commands, half of them of programs that the first round
// lacks (kReport).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/work_projection.h"
#include "memory/work_words.h"
#include "research/papers/memory_study.h"

namespace smartmig {

struct RecordedRun {
  struct Point {  // at equal steps of time
    double device_mib = 0, held_mib = 0;
    WorkWords words;  // printed since the previous point
  };
  std::string name, group, allocator, kind, command;
  int input = 0;
  double limit_mib = 0, seconds = 0, whole_s = 0;  // whole: if it had not failed
  bool ended = false, refused = false;
  std::vector<Point> points;  // kRecordedPoints for whole_s
};
inline constexpr std::size_t kRecordedPoints = 800, kRecordedEvery = 4;

enum class RecordedPart : std::uint8_t { kTuning, kReport };
RecordedPart part_of(std::string_view group);
Result<std::vector<RecordedRun>> parse_recorded_runs(std::string_view runs_csv, std::string_view series_csv);

struct RecordedCase {
  const RecordedRun* run = nullptr;
  std::vector<const RecordedRun*> earlier;
  double limit_mib = 0;                                  // the slice's; includes the context, as what is shown does
  std::size_t failure = 0;                               // the point at which it fails; points.size(): it ends well
  double duration_s = 0, restart_s = 0, expected_s = 0;  // expected 0: not told
  bool failed() const { return failure < run->points.size() || run->refused; }
  double at(std::size_t point) const { return duration_s * double(point + 1) / double(kRecordedPoints); }
};
std::vector<RecordedCase> recorded_cases(const std::vector<RecordedRun>& runs, RecordedPart part, bool with_earlier);

enum class RestartMethod : std::uint8_t {
  kAsked,  // the framework's counter of the most held, plus words, allocator and earlier runs
  kWork,   // words, allocator and earlier runs
  kTime,   // device memory over time
  kWait
};
Foresight judge_recorded(const RecordedCase& one, RestartMethod method);

}  // namespace smartmig
