// Estimates of a job's run time on each slice size and of its GPU memory, and learning from its run. Its time is a
// median and a spread: what was told, corrected by how told times turned out (LearnedTimes), and how long its like took
// (History), each weighed by its precision, in logarithms. Both rest on the same runs, so their mix is as wide as the
// narrower of them, and as often wider as such beliefs turned out. Thread rule: the owner's.
#pragma once
#include <map>
#include <set>
#include <utility>

#include "queue/answers/metrics_text.h"
#include "queue/belief/live_session.h"
#include "queue/config/settings.h"
#include "queue/learning/forecast_scores.h"
#include "queue/learning/history.h"
#include "queue/learning/learned_times.h"

namespace smartmig {

class Estimates {
 public:
  Estimates(const Settings& settings, const LiveSession& session, History history, LearnedTimes times,
            ForecastScores calibration)
      : settings_(settings),
        session_(session),
        history_(std::move(history)),
        times_(std::move(times)),
        scores_(std::move(calibration)) {}

  void estimate(JobRecord& job);  // sets `work` but what is left, and mem_mib where it is unknown
  double log_slowdown(const JobRecord& job) { return forecast(job).log_slowdown; }  // by neighbours, as its like had it
  void learn_from(const JobRecord& job);                        // it ran to its end, REQUIRES: the belief has it still
  void learn_cut(const JobRecord& job);                         // at its time limit, REQUIRES: as above
  void learn_joules(const JobRecord& job);                      // of one that has ended, when they are all known
  void ran_out(const JobRecord& job, int had_mib);              // of memory
  void learn_work(const JobRecord& job, const PastWork& work);  // how its memory followed its work
  std::vector<PastWork> works_of(const JobRecord& job) const;   // of its command, newest first

  // Again for a job that still waits. True: it will take another time or memory than was thought, by 2 % and more, or
  // by half where its time rests on what was told: a new row is the last in the order of arrival.
  bool refresh(JobRecord& job);
  struct Learned {
    std::set<std::string> programs;  // command_key.h
    std::set<std::uint32_t> users;   // of whose told times, or jobs without
  };
  Learned take_learned() { return std::exchange(learned_, {}); }  // since the last call

  struct Known {
    CommandKey key;
    Forecast forecast;
    std::vector<PredictedRun> last;  // oldest first
    int changes = 0, of = 7;
    bool shared_board = false;  // neighbours use the same SMs
  };
  Known known_of(const JobRecord& job);
  Known known_of(CommandKey key, std::string_view kind);
  // |log(took / planned)| of jobs that ended well, by where the estimate came from.
  const std::map<EstimateSource, MetricsHistogram>& errors() const { return errors_; }

  void add_history(const History& more) { history_.merge(more); }  // of another daemon

  std::string to_json() const { return history_.to_json(); }
  std::string times_json() const { return times_.to_json(); }
  const ForecastScores& calibration() const { return scores_; }
  void gave(QueueId job, const ForecastScores::Given& forecast);
  void forget(QueueId job) { scores_.forget(job); }  // it ended otherwise than well
  bool take_scores_changed() { return std::exchange(scores_changed_, false); }
  bool take_changed() { return std::exchange(changed_, false); }  // since the last call

 private:
  Forecast forecast(const JobRecord& job);
  void set_time(JobRecord& job, const Forecast& known);
  ForecastQuestion question(std::string_view kind) const;

  const Settings& settings_;
  const LiveSession& session_;
  History history_;
  LearnedTimes times_;
  ForecastScores scores_;
  bool scores_changed_ = false;
  bool changed_ = false;
  Learned learned_;
  std::map<EstimateSource, MetricsHistogram> errors_;
};

}  // namespace smartmig
