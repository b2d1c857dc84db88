// What recorded jobs leave open, filled by rules that the workload states in words with counts (Workload::rules):
//   duration   taken as the time on a whole reference GPU; smaller slices follow the kind's speed curve
//   kind       by the model name, else by a hash of the job id over the kinds measured on that GPU (trace_kinds.h)
//   deadline   where missing: submit + U(slack) * duration, by a hash of the job id
//   GPUs       a job of several GPUs cannot run on MIG slices and is dropped
// Draws depend on the seed and the job's id only, so a shortened or reordered file keeps them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sim/trace_kinds.h"
#include "sim/workload_spec.h"

namespace smartmig {

Time drawn_deadline(const Job& job, std::string_view id, std::uint64_t seed, SlackRange slack);

struct TraceJob {
  std::string id;
  std::optional<double> submit_s;  // within 0 .. kMaxSeconds
  double gpus = 1;
  std::optional<double> duration_s;         // at most kMaxSeconds
  std::optional<double> deadline_offset_s;  // after submit; within kMaxSeconds of 0
  std::string_view kind;                    // as the trace writes it
  int mem_mib = -1;
};

class TraceJobs {
 public:
  TraceJobs(std::string source, std::string id_name, const LoadOptions& options);

  void add(const TraceJob& job);  // keeps it, or drops and counts it
  bool known(const std::string& id) const { return ids_.count(id) > 0; }
  void note(std::string rule) { notes_.push_back(std::move(rule)); }
  Result<Workload> finish();  // kInvalid when nothing is left

 private:
  SlackRange drawn_slack() const;

  std::string id_name_;
  LoadOptions options_;
  KindPicker picker_;
  Workload workload_;
  std::vector<int> kind_numbers_;  // picker's kind to Workload::kinds
  std::unordered_set<std::string> ids_;
  std::vector<std::string> notes_;
  std::size_t rows_ = 0, many_gpus_ = 0, no_gpu_ = 0, no_duration_ = 0, no_submit_ = 0, own_deadlines_ = 0,
              by_name_ = 0;
};

}  // namespace smartmig
