// Prometheus metrics with their help and type, under one prefix.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace smartmig {

// The last few thousand durations of an operation, for quantiles that show the present and not the whole past. Owner's
// thread.
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

class MetricLines {
 public:
  explicit MetricLines(std::string prefix) : prefix_(std::move(prefix)) {}  // "smartmig_slurm_"
  void gauge(const char* name, const char* help, double value) { add(name, help, "gauge", value); }
  void counter(const char* name, const char* help, double value) { add(name, help, "counter", value); }
  void quantiles(const char* name, const char* help, const RecentTimes& times) {
    text += fmt::format("# HELP {0}{1} {2}\n# TYPE {0}{1} gauge\n", prefix_, name, help);
    for (const double share : {0.5, 0.99, 1.0})
      text += fmt::format("{}{}{{quantile=\"{}\"}} {}\n", prefix_, name, share, times.quantile(share));
  }
  std::string text;

 private:
  void add(const char* name, const char* help, const char* type, double value) {
    text += fmt::format("# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n{0}{1} {4}\n", prefix_, name, help, type, value);
  }
  std::string prefix_;
};

}  // namespace smartmig
