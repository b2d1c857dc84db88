// The GPU models that this project knows, from data/gpus.csv and data/profiles.csv (embedded). A site may add its own
// file of the same form. The catalogue leaves out models whose placements are unknown.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "mig/gpu_model.h"

namespace smartmig {

class Catalog {
 public:
  // Reads the two tables. Every error names file, line and column.
  static Result<Catalog> parse(LineReader gpus, LineReader profiles);
  static const Catalog& builtin();  // built on first use; thread-safe

  std::span<const std::shared_ptr<const GpuModel>> models() const { return models_; }
  // Finds a model by its name ("a100-40gb", "h200-141gb-soft"), product name or PCI id. The error lists similar names.
  Result<std::shared_ptr<const GpuModel>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<const GpuModel>> models_;
  std::vector<std::shared_ptr<const GpuModel>> soft_;  // from soft_model.h; found by name, never listed
};

}  // namespace smartmig
