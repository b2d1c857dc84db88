// The limits that users, quotas and the host leave for starts: compute slices of each user and quota, CPUs and host
// memory. The last judge
// of a start (start_filter.h): check() says whether the job may start and, if so, takes its share, so that the starts of
// one plan count together. The same rule gates the live fleet (host_shares.h) and its futures.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policy/layers/start_filter.h"

namespace smartmig {

struct ShareLimits {          // 0: no limit
  double cpus = 0;            // of the host
  double mem_mib = 0;         // of the host
  int user_slices = 0;        // compute slices that the running jobs of one user asked for
  int fleet_slices = 1;       // compute slices of all GPUs
  std::span<const int> caps;  // on compute slices, of whatever jobs have in common (ShareAsked::caps)
};

struct ShareAsked {
  std::uint32_t user = 0;
  int slices = 0;   // compute slices that count for its user: those the job asked for, not a policy's extra ones
  double room = 0;  // compute slices of the GPU that it takes
  double cpus = 0;  // 0: in proportion to its room
  int mem_mib = 0;  // of the host; 0: in proportion to its room
  std::array<int, 3> caps{-1, -1, -1};  // indices of ShareLimits::caps; -1: none
};

struct HostShare {
  double cpus = 0;
  int mem_mib = 0;
};
HostShare share_of(const ShareLimits& limits, const ShareAsked& asked);

class StartShares {
 public:
  void clear();
  void add(const ShareLimits& limits, const ShareAsked& asked);  // counts a running job
  // kNone: the job may start, and its share is now taken.
  StartObjection check(const ShareLimits& limits, const ShareAsked& asked);

  const std::map<std::uint32_t, int>& user_slices() const { return user_slices_; }
  int user_slices(std::uint32_t user) const;
  double cpus() const { return cpus_; }
  double mem_mib() const { return mem_mib_; }

 private:
  std::map<std::uint32_t, int> user_slices_;  // of running jobs and of starts in the present plan
  double cpus_ = 0, mem_mib_ = 0;             // likewise
  std::vector<int> of_cap_;                   // compute slices, likewise
};

}  // namespace smartmig
