// Where jobs come from: a generator spec ("paper:20x,seed=7") or a file, through one door. A spec is recognised by its
// prefix; a file by its content (sim/traces/trace_formats.h), plain or gzip. docs/workloads.md has the grammar and the
// formats. Readers and generators deliver a finished workload or an error, never half of one.
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
std::string to_string(const SlackRange& slack);         // parses back

struct LoadOptions {
  std::optional<std::uint64_t> seed;        // of a generator in place of its own; of the draws that fill gaps of a file
  double tokens_per_s = 0;                  // for traces that record tokens instead of durations; 0: not given
  std::optional<SlackRange> slack;          // draws every deadline anew, also those a file gives
  std::optional<SlackRange> missing_slack;  // draws those that a file does not give; a trace's else at 1 to 1.5
  Time deadline_cut{};  // taken off every deadline: the paper's stand-in for the cost of repartitioning is 4 s
  std::optional<RestartRule> restart;  // in place of the workload's own restart costs
  std::string gpu;                     // reference GPU of files that name none; empty: a100-40gb
  std::string format;                  // of a file, by its name in trace_formats.cc; empty: recognised
  std::string map;                     // which column means what, in place of the format's own (traces/trace_map.h)
  std::string default_kind;            // of rows whose model no kind is known for: KIND, or infer=KIND,train=KIND
  std::string throughputs;             // Gavel: file of steps per second, FILE[:WORKER]
  TraceReading* reading = nullptr;     // where to say how a file was understood
};

struct WorkloadSpec {
  enum class Family { kPaper, kFixed, kMiso, kParva } family = Family::kPaper;
  double multiplier = 0;  // of the daily profile; 0: constant rate instead
  double rate = 0;        // arrivals per minute at constant rate
  std::int64_t jobs = 0;  // how many, at constant rate
  std::uint64_t seed = 1;
  int days = 1;
  int first_hour = 0, last_hour = 24;  // part of each day; the origin of time stays midnight
  SlackRange slack;
  std::string mix = "mixed";  // fixed: mixed, linear, sublinear, capped
};

inline constexpr double kMaxGeneratedJobs = 2e7;

bool is_workload_spec(std::string_view text);
Result<WorkloadSpec> parse_workload_spec(std::string_view text);
std::string to_string(const WorkloadSpec& spec);  // with every setting: parses back to the same spec
double expected_jobs(const WorkloadSpec& spec);
Result<Workload> generate(const WorkloadSpec& spec);

Result<Workload> load_workload(const std::string& spec_or_file, const LoadOptions& options = {});

// The last step of every generator and reader: sorts, numbers kinds by first use, drops names that only repeat the
// index, sets days from the span of submits (at least 1) unless given, validates.
Result<Workload> finish_workload(Workload workload, std::optional<double> days = {});

}  // namespace smartmig
