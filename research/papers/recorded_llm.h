// LLM programs recorded on an H200 under several allocators (data/llm_runs*.csv, llm_series*.csv; bench/hardware/record_llm.py), as
// cases for the study of early restarts: what the device showed, what tensors held, and the lines that were printed, read as the
// daemon reads them (model/work_words.h). What a framework says when it is asked is the most that was held.
//
// A case is a run on a slice. Recorded ones had their memory limited by their own allocator. A run that ended well also stands for
// slices that it never filled (it fits), and for those where what it held passed the limit within 3 % of the run after the
// device's figure had (it fails then): between the two an allocator would have given back its cache, and nobody knows the rest. Runs
// of 5 to 30 s are stretched to 2 minutes to 2 hours. Each case is judged without earlier runs, and with those of its command that
// ended well on other input.
//
// Groups (a command under an allocator) of the first round are numbered 0 and 1: constants were chosen on them (kTuning). Those of the
// second are numbered from 2: other commands, half of them of programs that the first round does not have (kReport).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/work_projection.h"
#include "model/work_words.h"
#include "research/papers/memory_study.h"

namespace smartmig {

struct RecordedRun {
  struct Point {  // at equal steps of time
    double device_mib = 0, held_mib = 0;
    WorkWords words;  // printed since the point before
  };
  std::string name, group, allocator, kind, command;
  int input = 0;
  double limit_mib = 0, seconds = 0, whole_s = 0;  // whole: had it not failed
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
  double limit_mib = 0;                                  // of the slice; the context is in it, as in what is shown
  std::size_t failure = 0;                               // point it fails at; points.size(): it ends well
  double duration_s = 0, restart_s = 0, expected_s = 0;  // expected 0: not told
  bool failed() const { return failure < run->points.size() || run->refused; }
  double at(std::size_t point) const { return duration_s * double(point + 1) / double(kRecordedPoints); }
};
std::vector<RecordedCase> recorded_cases(const std::vector<RecordedRun>& runs, RecordedPart part, bool with_earlier);

enum class RestartMethod : std::uint8_t {
  kAsked,  // the framework says what its tensors held at the most; words, allocator and earlier runs besides
  kWork,   // words, allocator and earlier runs
  kTime,   // device memory over time
  kWait
};
Foresight judge_recorded(const RecordedCase& one, RestartMethod method);

}  // namespace smartmig
