#include "policy/layers/start_shares.h"

namespace smartmig {

HostShare share_of(const ShareLimits& limits, const ShareAsked& asked) {
  const double share = asked.room / limits.fleet_slices;
  return {asked.cpus > 0 ? asked.cpus : limits.cpus * share,
          asked.mem_mib > 0 ? asked.mem_mib : int(limits.mem_mib * share)};
}

void StartShares::clear() {
  user_slices_.clear();
  cpus_ = mem_mib_ = 0;
  of_cap_.clear();
}

void StartShares::add(const ShareLimits& limits, const ShareAsked& asked) {
  const HostShare share = share_of(limits, asked);
  user_slices_[asked.user] += asked.slices;
  cpus_ += share.cpus;
  mem_mib_ += share.mem_mib;
  for (const int cap : asked.caps) {
    if (cap < 0) continue;
    if (of_cap_.size() <= std::size_t(cap)) of_cap_.resize(std::size_t(cap) + 1);
    of_cap_[std::size_t(cap)] += asked.slices;
  }
}

int StartShares::user_slices(std::uint32_t user) const {
  const auto at = user_slices_.find(user);
  return at == user_slices_.end() ? 0 : at->second;
}

StartObjection StartShares::check(const ShareLimits& limits, const ShareAsked& asked) {
  if (limits.user_slices > 0 && user_slices(asked.user) + asked.slices > limits.user_slices)
    return StartObjection::kUserSlices;
  for (const int cap : asked.caps) {
    if (cap < 0) continue;
    const int taken = std::size_t(cap) < of_cap_.size() ? of_cap_[std::size_t(cap)] : 0;
    if (taken + asked.slices > limits.caps[std::size_t(cap)]) return StartObjection::kQuotaSlices;
  }
  const HostShare share = share_of(limits, asked);
  if (limits.cpus > 0 && cpus_ + share.cpus > limits.cpus * (1 + 1e-9)) return StartObjection::kHostCpus;
  if (limits.mem_mib > 0 && mem_mib_ + share.mem_mib > limits.mem_mib) return StartObjection::kHostMemory;
  add(limits, asked);
  return StartObjection::kNone;
}

}  // namespace smartmig
