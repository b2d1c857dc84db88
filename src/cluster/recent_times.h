// The last few thousand durations of an operation, for quantiles that show the present and not the whole past. Owner's
// thread.
#pragma once
#include <algorithm>
#include <vector>

namespace smartmig {

class RecentTimes {
 public:
  explicit RecentTimes(std::size_t most = 4096) : most_(most) {}
  void add(double seconds) {
    if (times_.size() < most_)
      times_.push_back(seconds);
    else
      times_[next_] = seconds;
    next_ = (next_ + 1) % most_;
  }
  std::size_t size() const { return times_.size(); }
  // The least time that at least this share of them does not exceed; 0 where there is none.
  double quantile(double share) const {
    if (times_.empty()) return 0;
    std::vector<double> sorted = times_;
    const double rank = share * double(sorted.size());
    std::size_t at = std::size_t(rank);
    if (double(at) == rank && at > 0) --at;
    at = std::min(at, sorted.size() - 1);
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(at), sorted.end());
    return sorted[at];
  }

 private:
  std::size_t most_, next_ = 0;
  std::vector<double> times_;
};

}  // namespace smartmig
