#include "queue/answers/figures.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr std::size_t kDecisionTimes = 8192;

}  // namespace

void Figures::decided(double took_s) {
  if (decision_times_.size() < kDecisionTimes) decision_times_.push_back(0);
  decision_times_[next_++ % kDecisionTimes] = took_s;
  decision_s_.observe(took_s);
  ++counts.decisions;
}

void Figures::reconfigured(bool create, bool ok, double took_s) {
  reconfiguration_s_.observe(took_s);
  ++reconfigurations_[{create ? "create" : "destroy", ok ? "ok" : "failed"}];
}

double Figures::decision_quantile_s(double q) const {
  std::vector<double> times = decision_times_;
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, std::size_t(q * double(times.size())))];
}

}  // namespace smartmig
