// The time windows of a Lagrangian bound: edges[0] = 0 < ... < edges[count], then an endless tail. In microseconds, so
// a certificate names them exactly.
#pragma once
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace smartmig {

struct Windows {
  std::vector<std::int64_t> edges{0};

  std::size_t count() const { return edges.size() - 1; }  // without the tail
  double start_min(std::size_t w) const { return double(edges[w]) / 60e6; }
  double length_min(std::size_t w) const { return double(edges[w + 1] - edges[w]) / 60e6; }  // REQUIRES: w < count()
  std::size_t find(Time t) const;  // the window that contains t; count() for the tail

  // One window up to `begin` (none if that is 0), then equal ones of `width` up to the first edge at or after
  // `horizon`.
  static Windows uniform(Time begin, Time width, Time horizon);
};

// Halves every window of `coarse` with split[w] that is at least two microseconds wide. parent[v] is the old window of
// the new window v.
Windows halve(const Windows& coarse, const std::vector<bool>& split, std::vector<std::size_t>& parent);

}  // namespace smartmig
