// Prometheus metrics with their help and type, under one prefix.
#pragma once
#include <fmt/format.h>

#include <string>

#include "cluster/recent_times.h"

namespace smartmig {

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
