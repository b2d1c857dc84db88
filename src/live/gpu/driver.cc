#include "live/gpu/driver.h"

#include <algorithm>
#include <array>

#include "mig/shape.h"

namespace smartmig {

std::string title(const GpuBoard& board) { return fmt::format("GPU {} ({})", board.index, board.product); }

std::string slice_name(const GpuModel& model, PlacementId p) {
  return fmt::format("{}@{}", model.profile_of(p).name, model.placement(p).start);
}

Result<Instance> MigDriver::divide(GpuId gpu, const Instance&, const std::vector<int>&) {
  return unsupported("GPU {}: slices of the driver {} have no compute instances to divide them into", index(gpu),
                     name());
}

void fold_instances(GpuBoard& board) {
  board.layout = Layout{};
  if (!board.model) return;
  const GpuModel& model = *board.model;
  const auto key = [&](const Instance& i) {
    return std::pair(i.placement == kNoPlacement ? 255 : int(model.placement(i.placement).start), i.gpu_instance);
  };
  std::sort(board.instances.begin(), board.instances.end(),
            [&](const Instance& a, const Instance& b) { return key(a) < key(b); });
  for (const Instance& i : board.instances) {
    if (i.placement == kNoPlacement) {
      if (board.trouble.empty())
        board.trouble =
            fmt::format("GPU instance {} has a profile or a start that is not in the catalogue", i.gpu_instance);
      continue;
    }
    if (i.compute_instance < 0) continue;
    if (const auto next = model.with(board.layout, i.placement))
      board.layout = *next;
    else if (board.trouble.empty())
      board.trouble = fmt::format("{} does not fit with {} in the catalogue", slice_name(model, i.placement),
                                  to_string(model, board.layout));
  }
}

bool is_monitor(std::string_view process_name) {
  constexpr std::array<std::string_view, 6> kMonitors = {"nv-hostengine",  "dcgm-exporter", "dcgmi",
                                                         "dcgmproftester", "nvidia-smi",    "nvidia-persiste"};
  return std::find(kMonitors.begin(), kMonitors.end(), process_name) != kMonitors.end();
}

Layout busy_layout(const GpuBoard& board, const std::vector<DeviceProcess>& processes) {
  std::uint32_t bits = 0;
  for (const DeviceProcess& process : processes)
    for (const Instance& i : board.instances)
      if (i.placement != kNoPlacement && (process.gpu_instance < 0 || process.gpu_instance == i.gpu_instance))
        bits |= 1u << index(i.placement);
  return board.model ? board.model->subset(board.layout, bits) : Layout{};
}

Layout foreign_layout(const GpuBoard& board) {
  std::uint32_t bits = 0;
  for (const Instance& i : board.instances)
    if (!i.ours && i.placement != kNoPlacement) bits |= 1u << index(i.placement);
  return board.model ? board.model->subset(board.layout, bits) : Layout{};
}

const Instance* find_instance(const GpuBoard& board, PlacementId p) {
  for (const Instance& i : board.instances)
    if (i.placement == p) return &i;
  return nullptr;
}

}  // namespace smartmig
