// Watts of a GPU given what runs on it. Two forms cover all sources:
//   table     watts = table[busy compute slices]                 (the papers' A100; measured H100 NVL)
//   additive  watts = idle when nothing runs, else min(cap, base + sum of what each running job adds); a job adds
//               per_slice * slices * utilisation(kind)           (linear-to-cap A100-SXM; job-dependent A100)
//               or the measured increment of (kind, profile)     (H200)
// A GPU model without measurements gets a rough additive model from its board's power limit (rough()).
// Named models and their sources: data/power.csv, data/power_kinds.csv (embedded). Immutable.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "mig/gpu_model.h"

namespace smartmig {

class PowerModel {
 public:
  // "auto" (the default of that GPU model), a name of the table ("paper", "a100-sxm", "h200", "board-700w", ...), or
  // "linear:IDLE_W:W_PER_SLICE:CAP_W". The error for an unknown name lists the names.
  static Result<PowerModel> named(std::string_view name, const GpuModel& gpu);

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  bool rough() const { return rough_; }  // derived from the board's power limit: nothing was measured
  bool is_table() const { return !table_.empty(); }
  const std::vector<double>& table() const { return table_; }
  double idle() const { return table_.empty() ? idle_ : table_[0]; }
  double cap() const { return cap_; }

  // Soft slices may outnumber the GPU's compute slices; busy slices are capped at those. REQUIRES: busy_slices >= 0.
  double watts(int busy_slices, double added) const {
    if (!table_.empty()) return table_[std::min(std::size_t(busy_slices), table_.size() - 1)];
    return busy_slices == 0 ? idle_ : std::min(cap_, base_ + added);
  }
  // What one running job of this kind adds on this profile; 0 for table models, which ignore the jobs.
  double added(std::string_view kind, const Profile& profile) const;

 private:
  std::string name_, source_;
  bool rough_ = false;
  std::vector<double> table_;
  double idle_ = 0, base_ = 0, per_slice_ = 0, cap_ = 0;
  std::map<std::string, double, std::less<>> utilisation_;    // by kind; missing kinds count as 1
  std::map<std::pair<std::string, int>, double> increments_;  // by (kind, profile size)
};

}  // namespace smartmig
