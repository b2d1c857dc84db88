// Fills what recorded jobs leave open, by rules that the workload states in words with counts (Workload::rules):
//   duration   is the time on a whole reference GPU; smaller slices follow the kind's speed curve
//   kind       by the model name, else by its class or a hash of the job id (trace_kinds.h)
//   deadline   if missing: submit + U(slack) * duration, by a hash of the job id, or none
//   GPUs       a job of several GPUs cannot run on MIG slices and is dropped
//   submit     for dates and Unix times, time 0 is the midnight before the first, in the time zone of the first
// Draws depend only on the seed and the job's id, so a shortened or reordered file keeps them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sim/trace_kinds.h"
#include "sim/workload_spec.h"

namespace smartmig {

Time drawn_deadline(const Job& job, std::string_view id, std::uint64_t seed, SlackRange slack);  // kNever: none

struct TraceJob {
  std::string id;
  std::optional<double> submit_s;           // in 0 .. kMaxSeconds
  bool is_date = false;                     // submit_s counts from 1970
  int zone_minutes = 0;                     // ... and was written with this offset east of UTC
  double gpus = 1;                          // below 1: a share of one
  std::optional<double> duration_s;         // at most kMaxSeconds
  std::optional<double> deadline_offset_s;  // after submit; within kMaxSeconds of 0
  bool no_deadline = false;                 // the trace says that the job has none
  std::string kind;                         // as in the trace
  int mem_mib = -1;
};

class TraceJobs {
 public:
  // An error if the options ask for an unknown kind.
  static Result<TraceJobs> open(std::string source, std::string id_name, const LoadOptions& options);

  void add(const TraceJob& job);  // keeps the job, or drops and counts it
  bool known(const std::string& id) const { return ids_.count(id) > 0; }
  void note(std::string rule) { notes_.push_back(std::move(rule)); }
  Result<Workload> finish();  // kInvalid if no job is left

 private:
  TraceJobs(std::string source, std::string id_name, const LoadOptions& options);
  SlackRange drawn_slack() const;
  void move_origin();
  void warn(std::size_t kept);

  std::string id_name_;
  LoadOptions options_;
  KindPicker picker_;
  Workload workload_;
  std::vector<int> kind_numbers_;  // from the picker's kind to Workload::kinds
  std::unordered_set<std::string> ids_;
  std::vector<std::string> notes_;
  bool dates_ = false;
  int zone_minutes_ = 0;  // the first date's
  std::vector<bool> has_submit_;
  std::size_t rows_ = 0, many_gpus_ = 0, no_gpu_ = 0, no_duration_ = 0, no_submit_ = 0, own_deadlines_ = 0,
              by_name_ = 0, by_default_ = 0, by_phase_ = 0, best_effort_ = 0;
};

}  // namespace smartmig
