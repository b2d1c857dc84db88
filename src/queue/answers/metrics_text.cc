#include "queue/answers/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smartmig {
namespace {

std::string metric_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

MetricsWriter::Labels board_labels(const MetricsInput::Board& b) {
  return {{"gpu", std::to_string(b.gpu)}, {"UUID", b.uuid}};
}

MetricsWriter::Labels slice_labels(const MetricsInput::Slice& s) {
  return {{"gpu", std::to_string(s.gpu)},
          {"UUID", s.uuid},
          {"GPU_I_ID", std::to_string(s.gpu_instance)},
          {"GPU_I_PROFILE", s.profile}};
}

void write_boards(MetricsWriter& out, const MetricsInput& in) {
  out.family("smartmig_board_power_watts", "gauge", "Power of a GPU board.");
  for (const auto& b : in.boards) out.sample(board_labels(b), b.watts);
  out.family("smartmig_board_energy_joules_total", "counter", "Energy of a GPU board, by how it was measured.");
  for (const auto& b : in.boards)
    for (const auto& [source, joules] : b.joules) {
      auto labels = board_labels(b);
      labels.emplace_back("source", source);
      out.sample(labels, joules);
    }
  out.family("smartmig_board_energy_unattributed_joules_total", "counter",
             "Energy of a board that is attributed to no job and no idle time: counter resets, missed "
             "samples.");
  for (const auto& b : in.boards) out.sample(board_labels(b), b.unattributed_joules);
  out.family("smartmig_board_info", "gauge", "1 for each board, with its model and state.");
  for (const auto& b : in.boards) {
    auto labels = board_labels(b);
    labels.emplace_back("model", b.model);
    labels.emplace_back("state", b.state);
    out.sample(labels, 1);
  }
  out.family("smartmig_fragmentation_ratio", "gauge",
             "Share of a board's free slices that its largest free profile leaves.");
  for (const auto& b : in.boards) out.sample(board_labels(b), b.fragmentation);
  out.family("smartmig_largest_free_slices", "gauge", "Compute slices of the largest profile that fits a board now.");
  for (const auto& b : in.boards) out.sample(board_labels(b), b.largest_free_slices);
  out.family("smartmig_dead_process_memory_bytes", "gauge", "GPU memory held by processes of ended jobs.");
  for (const auto& b : in.boards) out.sample(board_labels(b), b.dead_process_bytes);
}

void write_slices(MetricsWriter& out, const MetricsInput& in) {
  out.family("smartmig_slice_info", "gauge", "1 for each existing slice.");
  for (const auto& s : in.slices) {
    auto labels = slice_labels(s);
    labels.emplace_back("device", s.device);
    labels.emplace_back("start", std::to_string(s.start));
    labels.emplace_back("job", s.job ? std::to_string(*s.job) : "");
    out.sample(labels, 1);
  }
  out.family("smartmig_slice_power_watts", "gauge", "Power attributed to a slice by the model.");
  for (const auto& s : in.slices) {
    auto labels = slice_labels(s);
    labels.emplace_back("job", s.job ? std::to_string(*s.job) : "");
    out.sample(labels, s.watts);
  }
}

void write_jobs(MetricsWriter& out, const MetricsInput& in) {
  out.family("smartmig_job_energy_joules_total", "counter", "Energy attributed to a live job.");
  for (const auto& j : in.jobs) out.sample({{"job", std::to_string(j.id)}, {"user", j.user}}, j.joules);
  out.family("smartmig_job_tardiness_seconds", "gauge", "How late a live job is, or is expected to be.");
  for (const auto& j : in.jobs) out.sample({{"job", std::to_string(j.id)}, {"user", j.user}}, j.tardiness_s);
  out.family("smartmig_ended_jobs_total", "counter", "Jobs that ended.");
  out.sample({}, double(in.ended.jobs));
  out.family("smartmig_ended_jobs_energy_joules_total", "counter", "Energy attributed to jobs that ended.");
  out.sample({}, in.ended.joules);
  out.family("smartmig_ended_jobs_tardiness_seconds_total", "counter", "Lateness of jobs that ended.");
  out.sample({}, in.ended.tardiness_s);
  out.family("smartmig_jobs", "gauge", "Jobs by state.");
  for (const auto& [state, count] : in.jobs_by_state) out.sample({{"state", state}}, double(count));
  out.family("smartmig_queue_length", "gauge", "Waiting jobs.");
  out.sample({}, double(in.queue_length));
  out.family("smartmig_oom_restarts_total", "counter",
             "Jobs restarted on a larger slice after they ran out of memory.");
  out.sample({}, double(in.oom_restarts));
  out.family("smartmig_preemptions_total", "counter", "Jobs stopped for another one.");
  out.sample({}, double(in.preemptions));
  out.family("smartmig_refused_starts_total", "counter",
             "Starts refused because another attempt's process was alive on the slice.");
  out.sample({}, double(in.refused_starts));
}

void write_policy(MetricsWriter& out, const MetricsInput& in) {
  out.family("smartmig_decisions_total", "counter", "Decisions of the policy, by result.");
  for (const auto& [result, count] : in.decisions)
    out.sample({{"policy", in.program.policy}, {"result", result}}, double(count));
  out.family("smartmig_decision_duration_seconds", "histogram", "Duration of a decision.");
  out.histogram(in.decision_s);
  out.family("smartmig_run_time_log_error", "histogram",
             "For successful jobs: |log(time taken / time planned)|, by the source of the estimate.");
  for (const auto& [source, errors] : in.time_errors) out.histogram(errors, {{"source", source}});
  out.family("smartmig_forecast_held_ratio", "gauge", "Of the last 500 forecasts: share whose 80 % interval held.");
  for (const auto& [kind, of] : in.forecasts) out.sample({{"forecast", kind}}, of.held);
  out.family("smartmig_forecast_score_seconds", "gauge", "Of the last 500 forecasts: mean score of the 80 % interval.");
  for (const auto& [kind, of] : in.forecasts) out.sample({{"forecast", kind}}, of.score_s);
  out.family("smartmig_policy_fallback_total", "counter", "Times that the guard replaced the policy's decision.");
  out.sample({{"policy", in.program.policy}}, double(in.policy_fallbacks));
  out.family("smartmig_reconfigurations_total", "counter", "Changes of MIG instances, by kind and result.");
  for (const auto& [what, count] : in.reconfigurations)
    out.sample({{"kind", what.first}, {"result", what.second}}, double(count));
  out.family("smartmig_reconfiguration_duration_seconds", "histogram", "Duration of a change of MIG instances.");
  out.histogram(in.reconfiguration_s);
}

}  // namespace

void MetricsHistogram::observe(double value) {
  const auto at = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  ++counts[std::size_t(at)];
  sum += value;
}

void MetricsWriter::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type);
}

void MetricsWriter::sample(std::string_view suffix, const Labels& labels, double value) {
  text_ += name_;
  text_ += suffix;
  const char* separator = "{";
  for (const auto& [name, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", separator, name, escaped(text, true));
    separator = ",";
  }
  if (!labels.empty()) text_ += '}';
  text_ += fmt::format(" {}\n", metric_number(value));
}

void MetricsWriter::histogram(const MetricsHistogram& histogram, const Labels& labels) {
  std::uint64_t below = 0;
  const auto bucket = [&](const std::string& bound) {
    Labels with = labels;
    with.emplace_back("le", bound);
    sample("_bucket", with, double(below));
  };
  for (std::size_t i = 0; i < histogram.bounds.size(); ++i) {
    below += histogram.counts[i];
    bucket(metric_number(histogram.bounds[i]));
  }
  below += histogram.counts.back();
  bucket("+Inf");
  sample("_sum", labels, histogram.sum);
  sample("_count", labels, double(below));
}

std::string metrics_text(const MetricsInput& in) {
  MetricsWriter out;
  out.family("smartmig_info", "gauge", "1, with the version, policy and driver of this daemon.");
  out.sample({{"version", in.program.version}, {"policy", in.program.policy}, {"driver", in.program.driver}}, 1);
  out.family("smartmig_uptime_seconds", "gauge", "Seconds since the daemon started.");
  out.sample({}, in.program.uptime_s);
  out.family("smartmig_queue_paused", "gauge", "1 while the queue is paused.");
  out.sample({}, in.program.paused ? 1 : 0);
  out.family("smartmig_store_bytes", "gauge", "Size of the daemon's store on the disk.");
  out.sample({}, double(in.program.store_bytes));
  write_boards(out, in);
  write_slices(out, in);
  write_jobs(out, in);
  write_policy(out, in);
  return out.take();
}

}  // namespace smartmig
