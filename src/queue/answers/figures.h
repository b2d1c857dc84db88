// Counters of the daemon: decisions, ends, restarts, reconfigurations. Since its start; read by status and /metrics.
// Thread rule: the owner's.
#pragma once
#include <array>

#include "base/moved.h"
#include "queue/answers/metrics_text.h"
#include "queue/answers/power_series.h"
#include "queue/job_record.h"

namespace smartmig {

struct Counts {
  std::uint64_t decisions = 0, refused = 0, fallbacks = 0, shadow_differences = 0;
  std::uint64_t submitted = 0, preemptions = 0, oom_restarts = 0, early_restarts = 0;
  std::uint64_t refused_starts = 0;  // for somebody else was alive on the slice
  std::array<std::uint64_t, kJobStatuses> ended{};
  double ended_tardiness_s = 0, ended_joules = 0;
};

class Figures {
 public:
  explicit Figures(UnixTime started) : started_(started) {}

  Counts counts;
  PowerSeries power;            // the only part that outlives a restart
  void decided(double took_s);  // wall clock
  void reconfigured(bool create, bool ok, double took_s);

  UnixTime started() const { return started_; }
  void clock_stepped(Time by) {
    started_ = moved(started_, by);
    power.clock_stepped(by);
  }
  const std::vector<double>& decision_times() const { return decision_times_; }
  double decision_quantile_s(double q) const;  // over the last 8,192 decisions; 0: there was none
  using ByKindAndResult = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  const ByKindAndResult& reconfigurations() const { return reconfigurations_; }
  const MetricsHistogram& reconfiguration_s() const { return reconfiguration_s_; }
  const MetricsHistogram& decision_s() const { return decision_s_; }

 private:
  UnixTime started_;
  ByKindAndResult reconfigurations_;
  MetricsHistogram reconfiguration_s_{{0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30}};
  MetricsHistogram decision_s_{{1e-5, 1e-4, 1e-3, 5e-3, 2e-2, 0.1, 1}};
  std::vector<double> decision_times_;  // the last ones, in a ring
  std::size_t next_ = 0;
};

}  // namespace smartmig
