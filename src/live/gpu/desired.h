// The partition that a configuration asks for, and the changes that it needs. An entry covers a board when its
// device-filter (PCI id) and its devices (index) do; a board that two entries cover is an error, one that none covers
// is left alone. Counts become a shape whose starts are chosen around what runs; `mig-placements` pins some or all of
// them; GPU instances that must be divided are chosen last. Pure: boards and processes are given.
#pragma once
#include <optional>

#include "live/gpu/division.h"
#include "live/gpu/driver.h"
#include "live/gpu/mig_config.h"
#include "live/gpu/reshape.h"

namespace smartmig {

struct Desired {
  GpuId gpu = kNoGpu;
  bool mig_enabled = false;
  Shape shape;                                    // of all GPU instances
  Layout pinned;                                  // of those whose start is given
  PartCounts counts;                              // of the compute instances, by name: what is compared with the board
  std::vector<std::pair<int, Division>> divided;  // profile and division of each GPU instance that is not whole
};

struct WantedPartition {
  std::vector<Desired> gpus;
  std::vector<std::string> notes;        // what was left out, for a reader
  std::vector<std::string> uncovered;    // boards of which nothing is said
  std::vector<std::string> without_mig;  // boards that an entry for all devices asks MIG of in vain
};
Result<WantedPartition> desired_of(const MigConfig& config, const std::vector<GpuBoard>& boards);
// "4g+2g+1g" or "4g@0+3g@4" for one board.
Result<Desired> desired_of(const GpuBoard& board, std::string_view shape_or_layout);

// Is it so already? Else the difference in words.
std::optional<std::string> difference(const Desired& desired, const GpuBoard& board, bool mode_only);

struct DivideStep {
  PlacementId placement = kNoPlacement;
  Division into;
  bool kept = false;  // it is there already
  Time predicted{};
};

struct GpuChange {
  GpuId gpu = kNoGpu;
  std::optional<bool> mode;  // MIG mode to switch to; off comes after the last destroy, on before the first create
  ReshapePlan plan;
  std::vector<DivideStep> divide;  // after the plan
  std::string refusal;             // why it cannot be done now; empty: it can
};
// `busy` and foreign slices (unless adopted) stay.
GpuChange change_for(const Desired& desired, const GpuBoard& board, Layout busy, bool adopt, bool mode_only);

}  // namespace smartmig
