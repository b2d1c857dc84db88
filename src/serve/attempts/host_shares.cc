#include "serve/attempts/host_shares.h"

namespace smartmig {

// It may add a limit, so it comes before limits().
ShareAsked HostShares::asked(const JobRecord& job, int slices, double room) const {
  return {job.owner.uid, slices, room, job.spec.cpus, job.spec.host_mem_mib, quotas_.caps_of(job)};
}

ShareLimits HostShares::limits() const {
  return {settings_.host.cpus, double(settings_.host.mem_mib), settings_.limits.user_slices, fleet_slices_,
          quotas_.caps()};
}

HostShare HostShares::share_of(const JobRecord& job, double room) const {
  const ShareAsked wants{job.owner.uid, 0, room, job.spec.cpus, job.spec.host_mem_mib};
  return smartmig::share_of(limits(), wants);
}

void HostShares::count(const std::vector<AttemptTable::Running>& running) {
  taken_.clear();
  for (const AttemptTable::Running& one : running) {
    const ShareAsked has = asked(*one.job, one.slices, one.room);
    taken_.add(limits(), has);
  }
}

bool HostShares::user_full(std::uint32_t uid) const {
  return settings_.limits.user_slices > 0 && user_slices(uid) >= settings_.limits.user_slices;
}

StartObjection HostShares::check(const JobRecord& job, int slices, double room) {
  const ShareAsked wants = asked(job, slices, room);
  return taken_.check(limits(), wants);
}

}  // namespace smartmig
