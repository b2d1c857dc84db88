#include "queue/job_slice.h"

#include "base/text.h"

namespace smartmig {

std::string to_string(const JobSlice& slice) {
  return slice.none() ? std::string() : slice.profile + "@" + std::to_string(slice.start);
}

JobSlice parse_job_slice(std::string_view text) {
  const auto at = text.rfind('@');
  if (at == text.npos || at == 0) return {};
  const auto start = parse_int(text.substr(at + 1));
  if (!start || *start < 0 || *start > 255) return {};
  return {std::string(text.substr(0, at)), int(*start)};
}

JobSlice slice_of(const GpuModel& model, PlacementId where) {
  return {model.profile_of(where).name, model.placement(where).start};
}

PlacementId placement_of(const GpuModel& model, const JobSlice& slice) {
  for (std::size_t p = 0; p < model.placements().size(); ++p)
    if (slice_of(model, PlacementId(p)) == slice) return PlacementId(p);
  return kNoPlacement;
}

}  // namespace smartmig
