// How good forecasts were: of each kind the last kKept whose jobs ended well, with what then happened. A forecast is an
// interval that should hold in 80 % of the cases, and its median. Of a kind, each job has one:
//
//   run     how long it runs on its slice, as believed when it started
//   start   when it starts, by the first `eta` while it waited
//   end     when it ends, by the first `eta` of it
//
// The interval score (Gneiting and Raftery, 2007) is the width of the interval, and ten times the distance to it of
// what lies outside: the less, the better; neither wide intervals nor narrow ones that miss win. Times count from the
// forecast. Thread rule: the owner's.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "queue/job_record.h"

namespace smartmig {

class ForecastScores {
 public:
  static constexpr std::size_t kKept = 500, kPending = 10'000;
  enum Kind { kRun, kStart, kEnd };
  static constexpr int kKinds = 3;
  static const char* name_of(Kind kind);

  struct Forecast {  // seconds
    double low = 0, median = 0, high = 0;
  };
  struct Given {  // by eta, at `at`; Unix seconds
    double at = 0;
    std::optional<Forecast> start;
    Forecast end;
  };
  struct Figures {
    std::size_t count = 0;
    double held = 0;                  // share of what happened inside its interval
    double width_s = 0, score_s = 0;  // means
    double off = 1;                   // exp of the mean |log| of what happened over the median
  };

  void happened(Kind kind, const Forecast& forecast, double took_s);
  void gave(QueueId job, const Given& forecast);  // the first of each job counts
  void ended_well(const JobRecord& job);          // scores what was given for it
  void forget(QueueId job) { given_.erase(job); }
  Figures figures(Kind kind) const;

  std::string to_json() const;  // one line
  static Result<ForecastScores> parse(const std::string& name, std::string_view text);

 private:
  struct Outcome {
    Forecast forecast;
    double took_s = 0;
  };
  std::array<std::deque<Outcome>, kKinds> outcomes_;  // oldest first
  std::map<QueueId, Given> given_;                    // of jobs that have not ended
};

}  // namespace smartmig
