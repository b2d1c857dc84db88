#include "mig/reach_table.h"

#include <bit>

namespace smartmig {

ReachTable::ReachTable(const GpuModel& model) {
  const std::vector<Layout> all = model.layouts(model.all_profiles());
  const std::size_t slots = std::bit_ceil(all.size() * 2 + 1);
  shift_ = 32 - std::countr_zero(slots);
  keys_.assign(slots, 0);
  counts_.assign(slots, 0);
  std::uint32_t schedulable = 0;
  for (std::size_t i = 0; i < model.placements().size(); ++i)
    if (model.schedulable_profiles() >> model.placements()[i].profile & 1) schedulable |= 1u << i;
  for (Layout layout : all) {
    if (!model.maximal(layout, model.schedulable_profiles())) continue;
    const std::uint32_t added = layout.bits() & schedulable, fixed = layout.bits() & ~schedulable;
    std::uint32_t kept = added;
    for (;;) {
      const std::size_t at = slot(fixed | kept);
      used_ += counts_[at] == 0;
      keys_[at] = fixed | kept;
      ++counts_[at];
      if (kept == 0) break;
      kept = (kept - 1) & added;
    }
  }
  SMARTMIG_CHECK(used_ == all.size(), "{} of {} layouts counted", used_, all.size());
}

}  // namespace smartmig
