// The limits that users and the host of the live fleet leave (policy/layers/start_shares.h), by the settings. A user's
// slices are those that the jobs asked for (asked_size.h). Before each plan: count() what runs. Thread rule: the
// owner's.
#pragma once
#include <map>

#include "policy/layers/start_shares.h"
#include "queue/config/settings.h"
#include "queue/jobs/quotas.h"
#include "serve/attempts/attempt_table.h"

namespace smartmig {

class HostShares {
 public:
  // `settings` outlives it and may change.
  HostShares(const Settings& settings, Quotas& quotas, int fleet_slices)
      : settings_(settings), quotas_(quotas), fleet_slices_(fleet_slices) {}

  // In proportion to the slice, unless the job says otherwise; `room`: compute slices of the GPU that it takes.
  HostShare share_of(const JobRecord& job, double room) const;
  void count(const std::vector<AttemptTable::Running>& running);
  // kNone: it may start, and its share is taken. `slices`: that count for its user.
  StartObjection check(const JobRecord& job, int slices, double room);

  int user_slices(std::uint32_t uid) const { return taken_.user_slices(uid); }
  const std::map<std::uint32_t, int>& user_slices() const { return taken_.user_slices(); }
  bool user_full(std::uint32_t uid) const;  // no slice more
  double free_cpus() const { return settings_.host.cpus - taken_.cpus(); }
  int free_mem_mib() const { return int(settings_.host.mem_mib - taken_.mem_mib()); }

 private:
  ShareLimits limits() const;

  ShareAsked asked(const JobRecord& job, int slices, double room) const;

  const Settings& settings_;
  Quotas& quotas_;
  const int fleet_slices_;
  StartShares taken_;
};

}  // namespace smartmig
