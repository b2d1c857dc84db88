#include "kubernetes/kube_boards.h"

#include <algorithm>

#include "base/text.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

PlacementId placement_at(const GpuModel& model, const std::string& profile, int start) {
  for (std::size_t p = 0; p < model.placements().size(); ++p) {
    const PlacementId id{std::uint8_t(p)};
    if (model.placement(id).start == start && profile_in_device(model.profile_of(id).name) == profile) return id;
  }
  return kNoPlacement;
}

}  // namespace

std::map<std::string, std::vector<KubeBoard>> boards_of(
    const std::map<std::string, std::shared_ptr<const KubeSlice>>& slices) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> newest;
  for (const auto& [key, slice] : slices) {
    auto& generation = newest[{slice->node, slice->pool}];
    generation = std::max(generation, slice->generation);
  }
  std::map<std::string, std::map<int, KubeBoard>> found;
  for (const auto& [key, slice] : slices) {
    if (slice->generation != newest[{slice->node, slice->pool}]) continue;
    for (const KubeSlice::Device& device : slice->devices) {
      const auto name = parse_mig_device(device.name);
      if (!name) continue;
      KubeBoard& board = found[slice->node][name->gpu];
      board.minor = name->gpu;
      board.pool = slice->pool;
      if (board.product.empty() && !device.product.empty()) {
        board.product = device.product;
        if (auto model = Catalog::builtin().find(board.product)) board.model = std::move(*model);
      }
      if (!board.model) continue;
      const PlacementId where = placement_at(*board.model, name->profile, name->start);
      if (where != kNoPlacement) board.devices[where] = device.name;
    }
  }
  std::map<std::string, std::vector<KubeBoard>> out;
  for (auto& [node, boards] : found)
    for (auto& [minor, board] : boards) out[node].push_back(std::move(board));
  return out;
}

std::optional<KubePlace> place_of(const std::vector<KubeBoard>& boards, const KubeClaim::Device& device) {
  if (device.driver != kGpuDriver) return std::nullopt;
  for (std::size_t b = 0; b < boards.size(); ++b) {
    if (boards[b].pool != device.pool) continue;
    for (const auto& [where, name] : boards[b].devices)
      if (name == device.name) return KubePlace{b, where};
    const std::string whole = fmt::format("gpu-{}", boards[b].minor);
    if (device.name == whole || device.name.starts_with(whole + "-")) return KubePlace{b, kNoPlacement};
  }
  return std::nullopt;
}

}  // namespace smartmig
