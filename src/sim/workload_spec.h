// The one source of jobs: a generator spec ("paper:20x,seed=7") or a file. A spec is recognised by its prefix, a file
// by its content (sim/traces/trace_formats.h), plain or gzip. docs/workloads.md has the grammar and the formats.
// Readers and generators return a finished workload or an error, never part of one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/workload.h"
#include "sim/restart_rule.h"

namespace smartmig {

struct TraceReading;

// A deadline is submit + U(low, high) * time on the whole GPU; with `none` there is no deadline.
struct SlackRange {
  double low = 1, high = 1.5;
  bool none = false;
};
Result<SlackRange> parse_slack(std::string_view text);  // "1.5-3", "2" for exactly 2, "none"
std::string to_string(const SlackRange& slack);         // the result parses back

struct LoadOptions {
  std::optional<std::uint64_t> seed;        // replaces a generator's seed; for files, seeds the draws that fill gaps
  double tokens_per_s = 0;                  // for traces with tokens instead of durations; 0: not given
  std::optional<SlackRange> slack;          // replaces every deadline by a draw, even those of a file
  std::optional<SlackRange> missing_slack;  // draws only missing deadlines; default for traces: 1 to 1.5
  Time deadline_cut{};  // subtracted from every deadline; the paper uses 4 s in place of repartitioning costs
  std::optional<RestartRule> restart;  // replaces the workload's own restart costs
  std::string gpu;                     // reference GPU for files without one; empty: a100-40gb
  std::string format;                  // a file's, by its name in trace_formats.cc; empty: recognised
  std::string map;                     // the meaning of columns, in place of the format's own (traces/trace_map.h)
  std::string default_kind;            // for rows whose model has no known kind: KIND, or infer=KIND,train=KIND
  std::string throughputs;             // Gavel: file of steps per second, FILE[:WORKER]
  TraceReading* reading = nullptr;     // receives how a file was understood
};

struct WorkloadSpec {
  enum class Family { kPaper, kFixed, kMiso, kParva } family = Family::kPaper;
  double multiplier = 0;  // of the daily profile; 0: constant rate
  double rate = 0;        // arrivals per minute at constant rate
  std::int64_t jobs = 0;  // number of jobs at constant rate
  std::uint64_t seed = 1;
  int days = 1;
  int first_hour = 0, last_hour = 24;  // part of each day; time 0 stays midnight
  SlackRange slack;
  std::string mix = "mixed";  // fixed: mixed, linear, sublinear, capped
};

inline constexpr double kMaxGeneratedJobs = 2e7;

bool is_workload_spec(std::string_view text);
Result<WorkloadSpec> parse_workload_spec(std::string_view text);
std::string to_string(const WorkloadSpec& spec);  // includes every setting; parses back to the same spec
double expected_jobs(const WorkloadSpec& spec);
Result<Workload> generate(const WorkloadSpec& spec);

Result<Workload> load_workload(const std::string& spec_or_file, const LoadOptions& options = {});

// The last step of every generator and reader: sorts, numbers kinds by first use, drops names that only repeat the
// index, sets days from the span of submits (at least 1) unless given, and validates.
Result<Workload> finish_workload(Workload workload, std::optional<double> days = {});

}  // namespace smartmig
