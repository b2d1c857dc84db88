// smartmig workload: checks a workload, says what is in it, converts it to the project's job CSV.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/simulate/load_flags.h"
#include "cli/simulate/trace_words.h"
#include "cli/time_words.h"
#include "cli/verbs.h"
#include "sim/job_csv.h"
#include "sim/kind_curve.h"
#include "sim/peak_load.h"
#include "sim/workload_spec.h"
#include "sim/workload_windows.h"

namespace smartmig::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct KindSummary {
  std::string kind;
  std::size_t jobs = 0;
  double total_s = 0;  // on the largest size
  double mean_s() const { return jobs == 0 ? 0 : total_s / double(jobs); }
};

struct WorkloadSummary {
  std::array<std::size_t, 24> by_hour{};
  std::vector<KindSummary> kinds;  // most frequent first
  std::vector<double> slack;       // (deadline - submit) / whole-GPU time, increasing
  std::size_t without_deadline = 0;
  double first_s = 0, last_s = 0, total_s = 0, peak = 0;
};

struct WindowSummary {
  std::uint64_t number;
  std::size_t jobs;
  double peak;
  bool held_out;
};

constexpr double kQuantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[std::size_t(q * double(sorted.size() - 1))];
}

WorkloadSummary summarise(const Workload& workload) {
  WorkloadSummary out;
  out.kinds.resize(workload.kinds.size() + 1);
  for (std::size_t k = 0; k < out.kinds.size(); ++k) out.kinds[k].kind = k == 0 ? "(none)" : workload.kinds[k - 1];
  for (const Job& job : workload.jobs) {
    const double whole = seconds(whole_gpu_work(job));
    ++out.by_hour[std::size_t(job.submit / std::chrono::hours(1) % 24)];
    KindSummary& kind = out.kinds[std::size_t(job.kind + 1)];
    ++kind.jobs;
    kind.total_s += whole;
    out.total_s += whole;
    if (job.deadline == kNever)
      ++out.without_deadline;
    else if (whole > 0)
      out.slack.push_back(seconds(job.deadline - job.submit) / whole);
  }
  std::erase_if(out.kinds, [](const KindSummary& kind) { return kind.jobs == 0; });
  std::stable_sort(out.kinds.begin(), out.kinds.end(), [](const auto& a, const auto& b) { return a.jobs > b.jobs; });
  std::sort(out.slack.begin(), out.slack.end());
  out.peak = peak_gpus(workload);
  if (!workload.jobs.empty()) {
    out.first_s = seconds(workload.jobs.front().submit);
    out.last_s = seconds(workload.jobs.back().submit);
  }
  return out;
}

Result<std::vector<WindowSummary>> windows_of(const Workload& workload, const std::string& length) {
  SMARTMIG_TRY(const Time window, read_duration(length, std::chrono::hours(24)));
  SMARTMIG_TRY(const WorkloadWindows cut, WorkloadWindows::cut(workload, window));
  std::vector<WindowSummary> out;
  for (const std::uint64_t number : cut.all()) {
    SMARTMIG_TRY(const Workload part, cut.window(number));
    const auto& held = cut.held_out();
    out.push_back({number, part.jobs.size(), peak_gpus(part), std::count(held.begin(), held.end(), number) > 0});
  }
  return out;
}

void print_windows(const std::vector<WindowSummary>& windows) {
  if (windows.empty()) return;
  fmt::print("\n  {:<8} {:>9} {:>22}\n", "window", "jobs", "busiest 6 h, GPUs busy");
  for (const WindowSummary& window : windows)
    fmt::print("  {:<8} {:>9} {:>22.1f}{}\n", window.number, window.jobs, window.peak,
               window.held_out ? "  held out for reports" : "");
}

void print_summary(const Workload& workload, const WorkloadSummary& summary) {
  fmt::print("{}\n", workload.source);
  fmt::print("  jobs            {}\n", workload.jobs.size());
  fmt::print("  submitted       {:.2f} h to {:.2f} h, counted as {:.4g} days\n", summary.first_s / 3600,
             summary.last_s / 3600, workload.days);
  fmt::print("  reference GPU   {}\n", workload.reference_gpu);
  fmt::print("  whole-GPU time  {:.2f} GPU hours\n", summary.total_s / 3600);
  fmt::print("  busiest 6 h     {:.1f} GPUs busy if every job had its own GPU at once\n", summary.peak);
  if (!summary.slack.empty()) {
    fmt::print("  slack           ");
    for (const double q : kQuantiles) fmt::print("p{:.0f} {:.3g}  ", q * 100, quantile(summary.slack, q));
    fmt::print("({} without a deadline)\n", summary.without_deadline);
  } else if (summary.without_deadline > 0) {
    fmt::print("  slack           no job has a deadline\n");
  }
  fmt::print("  hash            {:016x}\n", hash_of(workload));
  fmt::print("\nArrivals by hour of day\n");
  const std::size_t most = *std::max_element(summary.by_hour.begin(), summary.by_hour.end());
  for (std::size_t hour = 0; hour < 24; ++hour)
    if (summary.by_hour[hour] > 0)
      fmt::print("  {:>2} {:>8}  {}\n", hour, summary.by_hour[hour],
                 std::string(std::max<std::size_t>(1, summary.by_hour[hour] * 40 / most), '#'));
  fmt::print("\n  {:<24} {:>9} {:>8} {:>16}\n", "kind", "jobs", "share", "mean whole-GPU s");
  for (const KindSummary& kind : summary.kinds)
    fmt::print("  {:<24} {:>9} {:>7.2f}% {:>16.2f}\n", kind.kind, kind.jobs,
               100.0 * double(kind.jobs) / double(workload.jobs.size()), kind.mean_s());
  fmt::print("\nRules\n");
  for (const std::string& rule : workload.rules) fmt::print("  - {}\n", rule);
}

void print_summary_json(const Workload& workload, const WorkloadSummary& summary,
                        const std::vector<WindowSummary>& windows) {
  OrderedJson out = {{"source", workload.source},
                     {"jobs", workload.jobs.size()},
                     {"reference_gpu", workload.reference_gpu},
                     {"days", workload.days},
                     {"first_submit_s", summary.first_s},
                     {"last_submit_s", summary.last_s},
                     {"whole_gpu_s", summary.total_s},
                     {"peak_gpus", summary.peak},
                     {"hash", fmt::format("{:016x}", hash_of(workload))},
                     {"arrivals_by_hour", summary.by_hour}};
  out["kinds"] = OrderedJson::array();
  for (const KindSummary& kind : summary.kinds)
    out["kinds"].push_back({{"kind", kind.kind}, {"jobs", kind.jobs}, {"mean_whole_gpu_s", kind.mean_s()}});
  out["slack"] = OrderedJson::object();
  if (!summary.slack.empty())
    for (const double q : kQuantiles) out["slack"][fmt::format("p{:.0f}", q * 100)] = quantile(summary.slack, q);
  out["without_deadline"] = summary.without_deadline;
  out["rules"] = workload.rules;
  for (const WindowSummary& window : windows)
    out["windows"].push_back(
        {{"window", window.number}, {"jobs", window.jobs}, {"peak_gpus", window.peak}, {"held_out", window.held_out}});
  fmt::print("{}\n", json_dump(out, 2));
}

}  // namespace

int run_workload(const Arguments& arguments) {
  std::string what, output, seed, gpu, window;
  LoadFlags flags;
  bool json = false, explain = false, formats = false;
  Command command(
      "workload", "SPEC|FILE",
      "Checks and summarises a workload. SPEC is a generator such as paper:20x,seed=7, fixed:, miso: or parva:. FILE is a job CSV, a public trace as downloaded, or any other table together with --map. Files may be plain or gzip; see docs/workloads.md.",
      "smartmig workload --explain cluster_log.csv");
  command.positional(what, false)
      .option("--output", output, "FILE", "write the jobs as job CSV; - writes to standard output, without the summary")
      .alias("-o")
      .flag("--explain", explain, "for a file: show its format, the meaning of each column, and what is missing")
      .flag("--formats", formats, "list the recognised formats and how smartmig recognises them")
      .flag("--json", json, "print as JSON")
      .option("--seed", seed, "N", "seed of the generator, or of the random values that fill gaps in a file")
      .option("--restart", flags.restart, "RULE",
              "use these restart costs instead of the workload's own: none, table, or SECONDS for training jobs")
      .option("--window", window, "D",
              "also list the windows of this length that compare uses as days, such as 14d or 6h")
      .option("--gpu", gpu, "MODEL", "reference GPU for files that do not name one");
  flags.declare(command);
  if (const auto end = command.ends(arguments)) return *end;
  if (formats) {
    print_formats(json);
    return 0;
  }
  if (what.empty()) return usage_error(invalid("workload needs SPEC or FILE; --formats lists the file formats"));

  auto options = flags.options();
  if (!options) return usage_error(options.error());
  options->gpu = gpu;
  if (!seed.empty()) {
    const auto number = parse_int(seed);
    if (!number || *number < 0) return usage_error(invalid("--seed must be a whole number from 0, not '{}'", seed));
    options->seed = std::uint64_t(*number);
  }
  if (explain && is_workload_spec(what))
    return usage_error(invalid("--explain is for files; {} is a generator, which prints its rules without it", what));
  TraceReading reading;
  options->reading = &reading;
  const auto workload = load_workload(what, *options);
  if (!workload) return is_workload_spec(what) ? usage_error(workload.error()) : failure(workload.error());
  if (explain) {
    print_reading(*workload, reading, json);
    return 0;
  }
  print_warnings(reading);
  if (!output.empty()) {
    const auto csv = to_job_csv(*workload);
    if (!csv) return failure(csv.error());
    if (output == "-") {
      fmt::print("{}", *csv);
      return 0;
    }
    if (const auto written = write_file(output, *csv); !written) return failure(written.error());
  }
  std::vector<WindowSummary> windows;
  if (!window.empty()) {
    auto cut = windows_of(*workload, window);
    if (!cut) return usage_error(cut.error());
    windows = std::move(*cut);
  }
  const WorkloadSummary summary = summarise(*workload);
  if (json) {
    print_summary_json(*workload, summary, windows);
  } else {
    print_summary(*workload, summary);
    print_windows(windows);
  }
  return 0;
}

}  // namespace smartmig::cli
