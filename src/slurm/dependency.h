// Whether what a held job depends on may be over. Slurm does not look at the dependencies of held jobs, so someone must
// before a slice is made. Slurm stays the judge: a job that is released too early waits there with the reason
// Dependency and is taken back; one that could go and is not seen here would wait forever, so doubt means yes.
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
