// Which measured kind stands for the job kind a trace writes ("train:resnet101", "train:transformer_train32", "LS"):
//   1. the model itself or its relatives (table in trace_kinds.cc and docs/workloads.md), of the same phase: measured
//      kinds before the paper's constants
//   2. the same of the other phase
//   3. any kind measured on the GPU, of the same phase if there is one
// Where several batches remain, the one the trace names, else by hash.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kind_curve.h"

namespace smartmig {

class KindPicker {
 public:
  // Speeds of this GPU model; of a100-40gb where the name is empty or nothing was measured on it.
  explicit KindPicker(std::string gpu);

  struct Choice {
    int curve = 0;         // index into curves()
    bool by_name = false;  // false: by hash over all kinds
  };
  Choice pick(std::string_view job_kind, std::uint64_t hash);

  const std::vector<KindCurve>& curves() const { return curves_; }
  const std::string& gpu() const { return gpu_; }
  const std::string& wanted_gpu() const { return wanted_gpu_; }

 private:
  struct Candidates {
    std::vector<int> curves;
    bool by_name = false;
  };
  Candidates candidates(std::string_view job_kind) const;
  std::vector<int> of(std::string_view model, std::string_view phase, bool measured) const;

  std::string wanted_gpu_, gpu_;
  std::vector<KindCurve> curves_;
  std::vector<KindName> names_;  // parallel to curves_
  std::vector<bool> measured_;   // parallel: not one of the paper's constants
  std::map<std::string, Candidates, std::less<>> cache_;
};

}  // namespace smartmig
