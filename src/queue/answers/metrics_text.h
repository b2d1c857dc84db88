// The daemon's figures as Prometheus text (version 0.0.4). The daemon fills MetricsInput, plain numbers; names, labels
// and help are here. Labels gpu, UUID, GPU_I_ID and GPU_I_PROFILE are those of dcgm-exporter, so that both can be
// joined. Series that carry a job exist for live jobs only: their number is bounded by the queue, not by its history.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smartmig {

struct MetricsHistogram {
  std::vector<double> bounds;         // upper, increasing
  std::vector<std::uint64_t> counts;  // of each bound, not cumulated; one more for what lies above the last
  double sum = 0;
  explicit MetricsHistogram(std::vector<double> upper = {}) : bounds(std::move(upper)), counts(bounds.size() + 1) {}
  void observe(double value);
};

struct MetricsInput {
  struct Board {
    int gpu = 0;
    std::string uuid, model, state;  // state: ok, failing, drained, quarantined, lost
    double watts = 0;
    std::map<std::string, double> joules;  // by source: counter, power-integral, model
    double unattributed_joules = 0;
    double fragmentation = 0;  // 0..1: share of the free slices that the largest free profile cannot use
    int largest_free_slices = 0;
    double dead_process_bytes = 0;  // GPU memory held by processes of ended jobs
  };
  struct Slice {
    int gpu = 0, gpu_instance = 0, start = 0;
    std::string uuid, profile, device;  // of the board; "3g.20gb"; of the slice
    std::optional<std::uint64_t> job;
    double watts = 0;
  };
  struct LiveJob {
    std::uint64_t id = 0;
    std::string user;
    double joules = 0, tardiness_s = 0;
  };
  struct Ended {  // sums over all jobs that ended
    std::uint64_t jobs = 0;
    double joules = 0, tardiness_s = 0;
  };
  struct Program {
    std::string version, policy, driver;
    double uptime_s = 0;
    std::uint64_t store_bytes = 0;
    bool paused = false;
  };
  Program program;
  std::vector<Board> boards;
  std::vector<Slice> slices;
  std::vector<LiveJob> jobs;
  std::map<std::string, std::uint64_t> jobs_by_state;  // live states; of final ones those since the start
  std::uint64_t queue_length = 0;                      // held and queued
  Ended ended;
  std::map<std::pair<std::string, std::string>, std::uint64_t> reconfigurations;  // by (kind, result)
  MetricsHistogram reconfiguration_s;
  std::map<std::string, std::uint64_t> decisions;  // by result: carried_out, refused
  MetricsHistogram decision_s;
  std::map<std::string, MetricsHistogram> time_errors;  // |log(took / planned)|, by source: given, history, guess
  struct Intervals {                                    // of 80 %, of the last forecasts
    double held = 0, score_s = 0;
  };
  std::map<std::string, Intervals> forecasts;  // by kind: run, start, end
  std::uint64_t policy_fallbacks = 0, oom_restarts = 0, preemptions = 0, refused_starts = 0;
};

std::string metrics_text(const MetricsInput& input);

// The writer below it: a family's HELP and TYPE, then its samples.
class MetricsWriter {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value) { sample("", labels, value); }
  void histogram(const MetricsHistogram& histogram, const Labels& labels = {});
  std::string take() { return std::move(text_); }

 private:
  void sample(std::string_view suffix, const Labels& labels, double value);
  std::string name_, text_;
};

}  // namespace smartmig
