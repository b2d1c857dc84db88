#include "bound/windows.h"

#include <algorithm>

#include "base/check.h"

namespace smartmig {

std::size_t Windows::find(Time t) const {
  const auto above = std::upper_bound(edges.begin(), edges.end(), t.count());
  return above == edges.begin() ? 0 : std::size_t(above - edges.begin()) - 1;
}

Windows Windows::uniform(Time begin, Time width, Time horizon) {
  SMARTMIG_CHECK(width > Time{0}, "a window of {} us", width.count());
  Windows windows;
  if (begin > Time{0}) windows.edges.push_back(begin.count());
  while (windows.edges.back() < horizon.count()) windows.edges.push_back(windows.edges.back() + width.count());
  return windows;
}

Windows halve(const Windows& coarse, const std::vector<bool>& split, std::vector<std::size_t>& parent) {
  Windows fine;
  parent.clear();
  for (std::size_t w = 0; w < coarse.count(); ++w) {
    const std::int64_t from = coarse.edges[w], to = coarse.edges[w + 1];
    if (split[w] && to - from >= 2) {
      fine.edges.push_back(from + (to - from) / 2);
      parent.push_back(w);
    }
    fine.edges.push_back(to);
    parent.push_back(w);
  }
  return fine;
}

}  // namespace smartmig
