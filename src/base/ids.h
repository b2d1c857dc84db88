// Strong ids. JobId is the dense index of a job in its Workload (order of submit, then name), GpuId the index of a GPU
// in its Platform, PlacementId an index into GpuModel::placements(), TypeId an index into Platform::types().
#pragma once
#include <cstdint>

namespace smartmig {

enum class GpuId : std::uint32_t {};
enum class JobId : std::uint32_t {};
enum class PlacementId : std::uint8_t {};
enum class TypeId : std::uint8_t {};

inline constexpr GpuId kNoGpu{0xFFFFFFFF};
inline constexpr JobId kNoJob{0xFFFFFFFF};
inline constexpr PlacementId kNoPlacement{0xFF};
inline constexpr TypeId kNoType{0xFF};

constexpr std::uint32_t index(GpuId id) { return std::uint32_t(id); }
constexpr std::uint32_t index(JobId id) { return std::uint32_t(id); }
constexpr std::uint32_t index(PlacementId id) { return std::uint32_t(id); }
constexpr std::uint32_t index(TypeId id) { return std::uint32_t(id); }

}  // namespace smartmig
