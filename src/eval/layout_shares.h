// How much GPU time a policy spends in each of the papers' layouts, and how sublinear its queue is: the slope of the
// least-squares line through the mean throughput of the unfinished jobs over 1, 2, 3, 4 and 7 slices, each job's
// relative to its throughput on 1 (1: all linear).
#pragma once
#include <vector>

#include "eval/experiment.h"

namespace smartmig {

struct LayoutShares {
  std::vector<double> share;                           // by paper layout, then everything else; sums to 1
  double sublinearity_low = 0, sublinearity_high = 0;  // least and greatest hourly mean
};

// Over these days together. The fleet must have one model, one that has the papers' layouts.
Result<LayoutShares> layout_shares(const Setting& setting, const Contender& contender,
                                   const std::vector<std::uint64_t>& seeds, int threads);

}  // namespace smartmig
