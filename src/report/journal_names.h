// The words of journal.jsonl, which its writer and its reader share.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "mig/gpu_model.h"
#include "model/event.h"

namespace smartmig {

// In the order of EventKind.
inline constexpr std::array<std::string_view, kEventKinds> kEventNames = {
    "submitted", "finished", "started", "stopped",   "reshape",       "destroyed",     "created",
    "withdrawn", "overrun",  "blocked", "unblocked", "found_running", "found_waiting",
};

inline std::string_view name_of(EventKind kind) { return kEventNames[std::size_t(kind)]; }

inline std::optional<EventKind> event_kind(std::string_view name) {
  for (std::size_t i = 0; i < kEventNames.size(); ++i)
    if (kEventNames[i] == name) return EventKind(i);
  return std::nullopt;
}

// "4g.20gb@0": a profile of the model, and its start.
inline std::string placement_name(const GpuModel& model, PlacementId p) {
  return fmt::format("{}@{}", model.profile_of(p).name, model.placement(p).start);
}
PlacementId find_placement(const GpuModel& model, std::string_view name);  // kNoPlacement if none has this name

}  // namespace smartmig
