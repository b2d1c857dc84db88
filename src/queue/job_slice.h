// A slice by name: a profile and where it starts on its GPU ("3g.20gb@4"). Stored and shown as text; on a model of the
// catalogue it is a placement. A name outlives the model it was written for: then it has no placement.
#pragma once
#include <string>
#include <string_view>

#include "mig/gpu_model.h"

namespace smartmig {

struct JobSlice {
  std::string profile;
  int start = -1;
  bool none() const { return profile.empty(); }
  bool operator==(const JobSlice&) const = default;
};

std::string to_string(const JobSlice& slice);     // "3g.20gb@4"; "" for none
JobSlice parse_job_slice(std::string_view text);  // none where it is no name of a slice
JobSlice slice_of(const GpuModel& model, PlacementId where);
PlacementId placement_of(const GpuModel& model, const JobSlice& slice);  // kNoPlacement: the model has no such slice

}  // namespace smartmig
