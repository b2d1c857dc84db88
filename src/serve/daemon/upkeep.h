// Work next to the queue: the operator's program for ended jobs, the files for dcgm-exporter, values that are saved now
// and then, old history that is removed. Thread rule: the owner's.
#pragma once
#include "queue/learning/estimates.h"
#include "serve/attempts/attempt_table.h"
#include "serve/attempts/job_mapping.h"
#include "serve/attempts/visible_jobs.h"
#include "serve/daemon/hook_queue.h"

namespace smartmig {

class Upkeep {
 public:
  Upkeep(const Settings& settings, LiveSession& session, LiveJobs& book, Store& store, JobRunner& runner);

  Result<Ok> open_mapping();                                             // by the settings as they are now
  void save_when_due(Estimates& estimates, const VisibleJobs& visible);  // before a commit
  void save(Estimates& estimates, const VisibleJobs& visible);
  // After a commit:
  void tell_of_ended();
  void send_mail(const std::vector<JobTransitions::Mail>& mail);
  void map_jobs(const AttemptTable& table, const Boards& boards);  // who is on which slice, for dcgm-exporter
  void prune_when_due();
  void set_last_without_log(const std::string& text);  // "AT_US:JOB", as the store has it
  UnixTime next_due() const { return std::min(next_save_, next_prune_); }
  void clock_stepped(Time by);
  void time_is_doubtful();  // nothing is removed for its age for a day

 private:
  const Settings& settings_;
  LiveSession& session_;
  LiveJobs& book_;
  Store& store_;
  JobRunner& runner_;
  HookQueue hooks_;
  std::optional<JobMapping> mapping_;
  std::string mapping_trouble_;
  UnixTime next_save_, next_prune_;
  JobEnd last_without_log_;  // logs of jobs that ended before it are gone, too
};

}  // namespace smartmig
