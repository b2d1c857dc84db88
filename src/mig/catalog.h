// The GPU models this project knows, from data/gpus.csv and data/profiles.csv (embedded). A site may add its own file
// of the same form. Models whose placements are not known at all are not in the catalogue.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "mig/gpu_model.h"

namespace smartmig {

class Catalog {
 public:
  // Reads the two tables; every complaint names file, line and column.
  static Result<Catalog> parse(LineReader gpus, LineReader profiles);
  static const Catalog& builtin();  // made on first use; thread-safe

  std::span<const std::shared_ptr<const GpuModel>> models() const { return models_; }
  // By name ("a100-40gb", "h200-141gb-soft"), product name or PCI id; the error lists near names.
  Result<std::shared_ptr<const GpuModel>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<const GpuModel>> models_;
  std::vector<std::shared_ptr<const GpuModel>> soft_;  // soft_model.h; found by name, listed nowhere
};

}  // namespace smartmig
