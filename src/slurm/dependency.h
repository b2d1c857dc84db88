// Decides whether the dependencies of a held job may be met. Slurm does not check the dependencies of held jobs, so
// smartmig must do so before it creates a slice. Slurm has the last word: a job that is released too early waits there
// with the reason Dependency and is taken back. A job that could run but is not recognised here would wait forever, so
// doubt means yes.
#pragma once
#include <map>

#include "slurm/snapshot.h"

namespace smartmig {

class SlurmDependencies {
 public:
  // One that failed after `settled` may be requeued for want of memory: it is not over yet.
  explicit SlurmDependencies(const std::vector<SlurmJob>& jobs, UnixTime settled = kNeverUnix);
  bool may_be_over(const SlurmJob& job) const;

 private:
  bool item_may_be_over(const SlurmJob& job, std::string_view item) const;
  UnixTime settled_;
  std::multimap<std::uint32_t, const SlurmJob*> by_id_;                                 // of the job or its array
  std::map<std::uint32_t, const SlurmJob*> by_number_;                                  // of the record
  std::map<std::pair<std::uint32_t, std::string>, std::vector<ClusterJobName>> alive_;  // of a user and name
};

}  // namespace smartmig
