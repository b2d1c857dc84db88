// Exits of attempts: the job they belong to, what they mean (exit_verdict.h), and what follows: an end, a return to the
// queue, a restart on a larger slice. Thread rule: the owner's.
#pragma once
#include "queue/learning/estimates.h"
#include "serve/attempts/attempts.h"
#include "serve/attempts/exit_verdict.h"
#include "serve/gpus/memory_watch.h"

namespace smartmig {

class AttemptEnds {
 public:
  AttemptEnds(const Settings& settings, JobRunner& runner, LiveSession& session, LiveJobs& book, const Boards& boards,
              AttemptTable& table, Attempts& attempts, MemoryWatch& memory, Estimates& estimates,
              JobTransitions& transitions, Figures& figures)
      : settings_(settings),
        runner_(runner),
        session_(session),
        book_(book),
        boards_(boards),
        table_(table),
        attempts_(attempts),
        memory_(memory),
        estimates_(estimates),
        transitions_(transitions),
        counts_(figures.counts) {}

  void found_ended(AttemptExit exit) { found_.push_back(std::move(exit)); }  // while no daemon was there
  void take_exits();
  void place(AttemptExit& exit);  // its instants by this daemon's clock

 private:
  void ended(JobRecord& job, const AttemptExit& exit);
  void remember_order(JobRecord& job, const AttemptExit& exit);
  void never_began(JobRecord& job, const AttemptExit& exit);  // for want of something
  void judge(JobRecord& job, const AttemptExit& exit);
  bool has_lost_its_slice(const JobRecord& job, const AttemptExit& exit) const;
  bool without_its_slice(JobRecord& job, const AttemptExit& exit);
  bool ended_ahead(JobRecord& job, const AttemptExit& exit);
  bool revive(JobRecord& job, const AttemptExit& exit, const ExitVerdict& verdict);
  void failed(JobRecord& job, const AttemptExit& exit, const ExitVerdict& verdict);

  const Settings& settings_;
  JobRunner& runner_;
  LiveSession& session_;
  LiveJobs& book_;
  const Boards& boards_;
  AttemptTable& table_;
  Attempts& attempts_;
  MemoryWatch& memory_;
  Estimates& estimates_;
  JobTransitions& transitions_;
  Counts& counts_;
  std::vector<AttemptExit> found_;
  std::string trouble_;  // of the runner, as noted last
};

}  // namespace smartmig
