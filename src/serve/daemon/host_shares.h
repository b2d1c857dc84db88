// What users and the host have left: compute slices of each user, CPUs, host memory. A user's slices are those that the
// jobs asked for (asked_size.h): what a policy gave on top counts against nobody. A start passes here last: check()
// says whether it may go and, if it may, takes its share, so that the starts of one plan are counted together.
// Before each plan: count() what runs. Thread rule: the owner's.
#pragma once
#include <map>

#include "policy/start_filter.h"
#include "serve/config/settings.h"
#include "serve/daemon/attempt_table.h"

namespace smartmig {

struct HostShare {
  double cpus = 0;
  int mem_mib = 0;
};

class HostShares {
 public:
  // `settings` outlives it and may change.
  HostShares(const Settings& settings, int fleet_slices) : settings_(settings), fleet_slices_(fleet_slices) {}

  // In proportion to the slice, unless the job says otherwise; `room`: compute slices of the GPU that it takes.
  HostShare share_of(const JobRecord& job, double room) const;
  void count(const std::vector<AttemptTable::Running>& running);
  // kNone: it may start, and its share is taken. `slices`: that count for its user.
  StartObjection check(const JobRecord& job, int slices, double room);

  int user_slices(std::uint32_t uid) const;
  const std::map<std::uint32_t, int>& user_slices() const { return user_slices_; }
  bool user_full(std::uint32_t uid) const;  // no slice more
  double free_cpus() const { return settings_.host.cpus - cpus_; }
  int free_mem_mib() const { return int(settings_.host.mem_mib - mem_mib_); }

 private:
  void add(const JobRecord& job, int slices, double room);

  const Settings& settings_;
  const int fleet_slices_;
  std::map<std::uint32_t, int> user_slices_;  // by uid: running, and started by the plan under way
  double cpus_ = 0, mem_mib_ = 0;             // likewise
};

}  // namespace smartmig
