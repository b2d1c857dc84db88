#include "serve/daemon/host_shares.h"

namespace smartmig {

HostShare HostShares::share_of(const JobRecord& job, double room) const {
  const double share = room / fleet_slices_;
  return {job.spec.cpus > 0 ? job.spec.cpus : settings_.host.cpus * share,
          job.spec.host_mem_mib > 0 ? job.spec.host_mem_mib : int(settings_.host.mem_mib * share)};
}

void HostShares::count(const std::vector<AttemptTable::Running>& running) {
  user_slices_.clear();
  cpus_ = mem_mib_ = 0;
  for (const AttemptTable::Running& one : running) add(*one.job, one.slices, one.room);
}

void HostShares::add(const JobRecord& job, int slices, double room) {
  const HostShare share = share_of(job, room);
  user_slices_[job.owner.uid] += slices;
  cpus_ += share.cpus;
  mem_mib_ += share.mem_mib;
}

int HostShares::user_slices(std::uint32_t uid) const {
  const auto at = user_slices_.find(uid);
  return at == user_slices_.end() ? 0 : at->second;
}

bool HostShares::user_full(std::uint32_t uid) const {
  return settings_.limits.user_slices > 0 && user_slices(uid) >= settings_.limits.user_slices;
}

StartObjection HostShares::check(const JobRecord& job, int slices, double room) {
  if (settings_.limits.user_slices > 0 && user_slices(job.owner.uid) + slices > settings_.limits.user_slices)
    return StartObjection::kUserSlices;
  const HostShare share = share_of(job, room);
  if (settings_.host.cpus > 0 && cpus_ + share.cpus > settings_.host.cpus * (1 + 1e-9))
    return StartObjection::kHostCpus;
  if (settings_.host.mem_mib > 0 && mem_mib_ + share.mem_mib > settings_.host.mem_mib)
    return StartObjection::kHostMemory;
  add(job, slices, room);
  return StartObjection::kNone;
}

}  // namespace smartmig
