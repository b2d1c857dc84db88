// The GPUs of the nodes, as NVIDIA's DRA driver publishes them: every possible slice is a device of a ResourceSlice,
// and its name contains the GPU and the placement. An allocated device is an existing slice. Pure.
#pragma once
#include <map>
#include <memory>

#include "kubernetes/kube_view.h"
#include "mig/gpu_model.h"

namespace smartmig {

struct KubeBoard {
  int minor = 0;                          // as the driver counts
  std::shared_ptr<const GpuModel> model;  // null: not in the catalogue
  std::string product, pool;
  std::map<PlacementId, std::string> devices;  // names, by where they are
};

// By node, in the order of the minors. Of a pool the slices of its last generation count.
std::map<std::string, std::vector<KubeBoard>> boards_of(
    const std::map<std::string, std::shared_ptr<const KubeSlice>>& slices);

// Where an allocated device is: the index of the board and the placement; nothing: no slice of these boards.
struct KubePlace {
  std::size_t board = 0;
  PlacementId where = kNoPlacement;  // kNoPlacement: the whole GPU, or not in the catalogue
};
std::optional<KubePlace> place_of(const std::vector<KubeBoard>& boards, const KubeClaim::Device& device);

}  // namespace smartmig
