#include "report/summary_text.h"

#include <fmt/format.h>

namespace smartmig {

std::vector<std::pair<std::string, std::string>> summary_fields(const Summary& s) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto put = [&](const char* name, auto value) { out.emplace_back(name, fmt::format("{}", value)); };
  put("gpus", s.gpus);
  put("jobs", s.jobs);
  put("unfinished_jobs", s.unfinished_jobs);
  put("late_jobs", s.late_jobs);
  put("days", s.days);
  put("a", s.a);
  put("a_eff", s.a_eff);
  put("energy_j", s.energy_joules);
  put("energy_wmin", s.energy_wmin);
  put("energy_kwh", s.energy_kwh);
  put("idle_j", s.idle_joules);
  put("mean_tardiness_min", s.mean_tardiness_min);
  put("p99_tardiness_min", s.p99_tardiness_min);
  put("max_tardiness_min", s.max_tardiness_min);
  put("et", s.et);
  put("et_sum", s.et_sum);
  put("makespan_min", s.makespan_min);
  put("mean_wait_min", s.mean_wait_min);
  put("mean_turnaround_min", s.mean_turnaround_min);
  put("p99_turnaround_min", s.p99_turnaround_min);
  put("utilisation", s.utilisation);
  put("events", s.events);
  put("repartitions", s.repartitions);
  put("preemptions", s.preemptions);
  put("moves", s.moves);
  return out;
}

std::string summary_json(const Summary& summary) {
  std::string out = "{";
  for (const auto& [name, value] : summary_fields(summary))
    out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", name, value);
  return out + "}";
}

std::string summary_text(const Summary& s) {
  const double idle_share = s.energy_joules > 0 ? 100 * s.idle_joules / s.energy_joules : 0;
  const double late_share = s.jobs > 0 ? 100.0 * double(s.late_jobs) / double(s.jobs) : 0;
  std::string out;
  out += fmt::format("jobs          {} on {} GPUs{}\n", s.jobs, s.gpus,
                     s.unfinished_jobs ? fmt::format(", {} not finished", s.unfinished_jobs) : "");
  out += fmt::format("energy        {:.3f} kWh ({:.0f} W min, {:.1f} % of it idle)\n", s.energy_kwh, s.energy_wmin,
                     idle_share);
  out += fmt::format("tardiness     mean {:.4f} min, p99 {:.3f} min, max {:.3f} min; {} late ({:.1f} %)\n",
                     s.mean_tardiness_min, s.p99_tardiness_min, s.max_tardiness_min, s.late_jobs, late_share);
  out += fmt::format("ET            {:.6f} (a = {})\n", s.et, s.a);
  out += fmt::format("turnaround    mean {:.3f} min, p99 {:.3f} min; mean wait {:.3f} min\n", s.mean_turnaround_min,
                     s.p99_turnaround_min, s.mean_wait_min);
  out +=
      fmt::format("makespan      {:.2f} min, {:.1f} % of compute slices busy\n", s.makespan_min, 100 * s.utilisation);
  out +=
      fmt::format("actions       {} repartitions, {} preemptions, {} moves\n", s.repartitions, s.preemptions, s.moves);
  return out;
}

}  // namespace smartmig
