// What a job will take: run time on the whole GPU and GPU memory, as told, as its like took before (History), or by
// default; and what its run teaches. Thread rule: the owner's.
#pragma once
#include "serve/config/settings.h"
#include "serve/daemon/history.h"
#include "serve/daemon/live_session.h"

namespace smartmig {

class Estimates {
 public:
  Estimates(const Settings& settings, const LiveSession& session, History history)
      : settings_(settings), session_(session), history_(std::move(history)) {}

  void estimate(JobRecord& job);                    // sets estimate, estimate_source and, where it is unknown, mem_mib
  double sigma_of(const JobRecord& job);            // spread of the logarithm of its run time
  void learn_from(const JobRecord& job);            // it ran to its end, REQUIRES: the belief has it still
  void ran_out(const JobRecord& job, int had_mib);  // of memory
  std::string to_json() const { return history_.to_json(); }

 private:
  const Settings& settings_;
  const LiveSession& session_;
  History history_;
};

}  // namespace smartmig
