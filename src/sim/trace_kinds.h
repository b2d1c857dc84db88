// Chooses the measured kind that stands for a trace's job kind ("train:resnet101", "train:transformer_train32", "LS"):
//   1. the model itself or its relatives (table in trace_kinds.cc and docs/workloads.md), of the same phase; measured
//      kinds before the paper's constants
//   2. the default kind that the user gave, for this phase or for all
//   3. any kind of the phase, so that inference stays inference and training stays training; measured kinds first
//   4. if the GPU has no kind of that phase: the model or its relatives in the other phase
//   5. any kind measured on the GPU
// Among several batch sizes the trace's decides, else a hash.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/kind_curve.h"

namespace smartmig {

// "infer" for inference, serving, evaluation, LS (latency-sensitive); "train" for training, pretrain, SFT, fine-tuning;
// empty for other words.
std::string phase_of_class(std::string_view word);

class KindPicker {
 public:
  // The speeds of this GPU model; those of a100-40gb if the name is empty or the model has no measurements.
  explicit KindPicker(std::string gpu);

  // "bert-infer", or by phase "infer=bert-infer,train=resnet50-train". The error lists the known kinds.
  Result<Ok> set_default_kind(std::string_view text);

  enum class How { kByName, kByDefault, kByPhase, kByHash };
  struct Choice {
    int curve = 0;  // index into curves()
    How how = How::kByHash;
  };
  Choice pick(std::string_view job_kind, std::uint64_t hash);

  const std::vector<KindCurve>& curves() const { return curves_; }
  const std::string& gpu() const { return gpu_; }
  const std::string& wanted_gpu() const { return wanted_gpu_; }

 private:
  struct Candidates {
    std::vector<int> curves;
    How how = How::kByHash;
  };
  Candidates candidates(std::string_view job_kind) const;
  std::vector<int> by_name(const KindName& name) const;
  std::vector<int> of(std::string_view model, std::string_view phase, bool measured) const;

  std::string wanted_gpu_, gpu_;
  std::vector<KindCurve> curves_;
  std::vector<KindName> names_;                                    // parallel to curves_
  std::vector<bool> measured_;                                     // parallel; false: one of the paper's constants
  std::map<std::string, std::vector<int>, std::less<>> defaults_;  // by phase; "" for all
  std::map<std::string, Candidates, std::less<>> cache_;
};

}  // namespace smartmig
