// What a job will take: run time on each slice size and GPU memory, as told, as its like took before (History), or by
// default; and what its run teaches. A job's own words win: of a told time history says how it scales, no more.
// Thread rule: the owner's.
#pragma once
#include <map>
#include <set>
#include <utility>

#include "serve/config/settings.h"
#include "serve/daemon/history.h"
#include "serve/daemon/live_session.h"
#include "serve/http/metrics_text.h"

namespace smartmig {

class Estimates {
 public:
  Estimates(const Settings& settings, const LiveSession& session, History history)
      : settings_(settings), session_(session), history_(std::move(history)) {}

  void estimate(JobRecord& job);          // sets estimate, shape, source and, where it is unknown, mem_mib
  double sigma_of(const JobRecord& job);  // spread of the logarithm of its run time
  double log_slowdown(const JobRecord& job) { return forecast(job).log_slowdown; }  // by neighbours, as its like had it
  void learn_from(const JobRecord& job);                        // it ran to its end, REQUIRES: the belief has it still
  void learn_joules(const JobRecord& job);                      // of one that has ended, when they are all known
  void ran_out(const JobRecord& job, int had_mib);              // of memory
  void learn_work(const JobRecord& job, const PastWork& work);  // how its memory followed its work
  std::vector<PastWork> works_of(const JobRecord& job) const;   // of its command, newest first

  // Again for a job that still waits. True: it will take another time or memory than was thought, by 2 % and more.
  bool refresh(JobRecord& job);
  // Programs (command_key.h) of which something was learned since the last call.
  std::set<std::string> take_learned() { return std::exchange(learned_, {}); }
  static std::string program(const JobRecord& job);

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
  bool take_changed() { return std::exchange(changed_, false); }  // since the last call

 private:
  Forecast forecast(const JobRecord& job);
  ForecastQuestion question(std::string_view kind) const;

  const Settings& settings_;
  const LiveSession& session_;
  History history_;
  bool changed_ = false;
  std::set<std::string> learned_;
  std::map<EstimateSource, MetricsHistogram> errors_;
};

}  // namespace smartmig
