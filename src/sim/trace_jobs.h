// What recorded jobs leave open, filled by rules that the workload states in words with counts (Workload::rules):
//   duration   taken as the time on a whole reference GPU; smaller slices follow the kind's speed curve
//   kind       by the model name, else by its class or a hash of the job id (trace_kinds.h)
//   deadline   where missing: submit + U(slack) * duration, by a hash of the job id, or none
//   GPUs       a job of several GPUs cannot run on MIG slices and is dropped
//   submit     of dates and Unix times: time 0 is the midnight before the first, where the first was written
// Draws depend on the seed and the job's id only, so a shortened or reordered file keeps them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sim/trace_kinds.h"
#include "sim/workload_spec.h"

namespace smartmig {

Time drawn_deadline(const Job& job, std::string_view id, std::uint64_t seed, SlackRange slack);  // kNever for none

struct TraceJob {
  std::string id;
  std::optional<double> submit_s;           // within 0 .. kMaxSeconds
  bool is_date = false;                     // submit_s is since 1970
  int zone_minutes = 0;                     // ... and was written so far east of UTC
  double gpus = 1;                          // below 1: part of one
  std::optional<double> duration_s;         // at most kMaxSeconds
  std::optional<double> deadline_offset_s;  // after submit; within kMaxSeconds of 0
  bool no_deadline = false;                 // the trace says that there is none
  std::string kind;                         // as the trace writes it
  int mem_mib = -1;
};

class TraceJobs {
 public:
  // An error where the options ask for a kind that there is not.
  static Result<TraceJobs> open(std::string source, std::string id_name, const LoadOptions& options);

  void add(const TraceJob& job);  // keeps it, or drops and counts it
  bool known(const std::string& id) const { return ids_.count(id) > 0; }
  void note(std::string rule) { notes_.push_back(std::move(rule)); }
  Result<Workload> finish();  // kInvalid when nothing is left

 private:
  TraceJobs(std::string source, std::string id_name, const LoadOptions& options);
  SlackRange drawn_slack() const;
  void move_origin();
  void warn(std::size_t kept);

  std::string id_name_;
  LoadOptions options_;
  KindPicker picker_;
  Workload workload_;
  std::vector<int> kind_numbers_;  // picker's kind to Workload::kinds
  std::unordered_set<std::string> ids_;
  std::vector<std::string> notes_;
  bool dates_ = false;
  int zone_minutes_ = 0;  // of the first date
  std::vector<bool> has_submit_;
  std::size_t rows_ = 0, many_gpus_ = 0, no_gpu_ = 0, no_duration_ = 0, no_submit_ = 0, own_deadlines_ = 0,
              by_name_ = 0, by_default_ = 0, by_phase_ = 0, best_effort_ = 0;
};

}  // namespace smartmig
