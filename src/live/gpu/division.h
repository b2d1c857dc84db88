// Compute instances of a GPU instance. Usually one spans it; a GPU instance may also be divided into several, which
// share its memory: "1c.3g.20gb" is a compute instance with one of the three compute slices of a 3g.20gb. As in
// mig-parted, counts of such names do not say how they are spread over GPU instances; pack() decides. Pure: boards are
// given.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/gpu/driver.h"

namespace smartmig {

using Division = std::vector<int>;  // compute slices of each compute instance, large to small

struct ComputePartName {
  int profile = 0, slices = 0;
};
// "1c.3g.20gb", "2c.3g", "3g.20gb", "3g": the profile, and the compute slices of the compute instance.
Result<ComputePartName> parse_part_name(const GpuModel& model, std::string_view name);
std::string part_name(const GpuModel& model, int profile, int slices);  // "3g.20gb" where it spans the GPU instance

Division division_of(const GpuModel& model, const Instance& instance);  // of one that has a compute instance
std::string to_string(const Division& division);                        // "1c+1c+1c"

// What is on the board by name, as mig-parted counts: {"1c.3g.20gb": 3, "4g.20gb": 1}.
using PartCounts = std::map<std::string, int>;
PartCounts part_counts(const GpuBoard& board);
std::string to_string(const PartCounts& counts);  // "1c.3g.20gb*3+4g.20gb"

// Compute instances of these sizes on GPU instances of `capacity` compute slices: on as few as can be, or on exactly
// `bins` of them, none empty, where that is more. nullopt: they do not fit so.
std::optional<std::vector<Division>> pack(Division sizes, int capacity, int bins);

}  // namespace smartmig
