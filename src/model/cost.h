// What an action costs. `paper`: preemption and repartitioning are free and instantaneous, and progress is carried
// across slice sizes. `hardware`: only idle instances can be destroyed, each operation takes its measured time (or
// `reshape` per change of a GPU), a preempted job pays its restart time, and jobs without a restart time are never
// preempted.
#pragma once
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

struct CostModel {
  enum Kind { kPaper, kHardware } kind = kPaper;
  std::optional<Time> reshape;  // hardware: the time of one change of a GPU, in place of the table of instance times

  bool free() const { return kind == kPaper; }
  static Result<CostModel> parse(std::string_view name) {
    if (name == "paper") return CostModel{kPaper, {}};
    if (name == "hardware") return CostModel{kHardware, {}};
    return invalid("cost model must be paper or hardware, not '{}'", name);
  }
  const char* name() const { return kind == kPaper ? "paper" : "hardware"; }
};

}  // namespace smartmig
