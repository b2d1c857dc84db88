// Figures of the controller for Prometheus, as text: a file that node_exporter's textfile collector reads, so that the
// controller opens no port. Counters begin anew where everything is read anew.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "cluster/controller.h"
#include "cluster/metric_lines.h"
#include "cluster/private_folder.h"

namespace smartmig {
namespace {

constexpr Time kMetricsEach{10'000'000};

}  // namespace

std::string ClusterController::metrics() const {
  MetricLines lines(fmt::format("smartmig_{}_", words().id));
  std::size_t with_slice = 0, ready = 0, blocked = 0, up = 0, answering = 0;
  for (const auto& [name, job] : jobs_) {
    with_slice += job.way != Way::kWaiting;
    ready += job.way == Way::kWaiting && job.ready;
  }
  double busy = 0;
  for (const GpuState& gpu : session_->cluster().gpus()) busy += gpu.busy_slices;
  for (const Gpu& gpu : gpus_) blocked += gpu.blocked;
  for (const auto& [name, node] : nodes_) {
    up += node.up;
    answering += node.answers;
  }
  lines.gauge("nodes", "Nodes with an agent that the controller knows.", double(nodes_.size()));
  lines.gauge("nodes_up", "Of these, nodes that accept jobs.", double(up));
  lines.gauge("agents_answering", "Of these, nodes whose agent answers.", double(answering));
  lines.gauge("gpus", "GPUs of the nodes.", double(gpus_.size()));
  lines.gauge("gpus_blocked", "GPUs that accept no jobs now.", double(blocked));
  lines.gauge("jobs_with_slice", "Jobs that have a slice, running or about to start.", double(with_slice));
  lines.gauge("jobs_waiting", "Jobs that have no slice.", double(jobs_.size() - with_slice));
  lines.gauge("jobs_ready", "Of these, jobs that wait only for a slice.", double(ready));
  lines.gauge("answers", "1 if the engine answered the last request.", answers_ ? 1 : 0);
  lines.gauge("longest_decision_seconds", "Duration of the longest decision.", counts_.longest_decision_s);
  lines.quantiles("decision_seconds", "Durations of the last 4096 decisions.", decisions_);
  lines.quantiles("turn_seconds", "Durations of the last 4096 turns: requests to the engine, decision, actions.",
                  turns_);
  lines.gauge("compute_slices", "Compute slices of all GPUs.", session_->platform().total_compute_slices());
  lines.gauge("compute_slices_busy", "Of these, with a job.", busy);
  lines.counter("queries_total", "Requests for the state of the engine.", double(counts_.queries));
  lines.counter("action_batches_total", "Batches of actions.", double(counts_.batches));
  lines.counter("actions_total", "Actions requested from the engine.", double(counts_.actions));
  lines.counter("starts_total", "Jobs that were given a slice.", double(counts_.starts));
  lines.counter("ended_total", "Jobs with a slice that ended.", double(counts_.ended));
  lines.counter("stops_total", "Jobs requeued for more urgent ones.", double(counts_.stops));
  lines.counter("taken_back_total", "Released jobs that did not start.", double(counts_.taken_back));
  lines.counter("doubts_total", "Replies that lacked jobs with slices, after one that had all.",
                double(counts_.doubts));
  lines.counter("grown_total", "Jobs requeued for a larger slice after they ran out of memory.", double(counts_.grown));
  lines.counter("slices_created_total", "Slices requested.", double(counts_.creates));
  lines.counter("slices_destroyed_total", "Slices removed.", double(counts_.destroys));
  lines.counter("decisions_total", "Decisions of the policy.", double(counts_.decisions));
  lines.counter("decision_seconds_total", "Total time of all decisions.", counts_.decide_s);
  workload_.add_metrics(lines);
  lines.gauge("written_seconds", "Time when this file was written, in seconds since 1970.",
              double(unix_us(now())) / 1e6);
  return lines.text;
}

void ClusterController::write_metrics() {
  if (options_.metrics_file.empty() || now() < next_metrics_) return;
  next_metrics_ = now() + kMetricsEach;
  const std::string folder = std::filesystem::path(options_.metrics_file).parent_path().string();
  const Result<Ok> written = anybody_may_write(folder.empty() ? "." : folder)
                                 ? no_permission("{}: others may write to its directory", options_.metrics_file)
                                 : write_file(options_.metrics_file, metrics());
  if (bool(written) != metrics_written_) say(written ? "metrics are written again" : written.error().what);
  metrics_written_ = bool(written);
}

}  // namespace smartmig
