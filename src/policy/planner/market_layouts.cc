#include "policy/planner/market_layouts.h"

#include "policy/layouts/repartitioners.h"

namespace smartmig {

MarketLayouts::MarketLayouts(MarketOptions options, const Platform& platform)
    : planner_(std::move(options)), initial_(whole_gpus(platform)), shapes_(initial_) {}

void MarketLayouts::retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) {
  const std::uint64_t period = (5 * cluster.gpus().size() + 7) / 8;
  if (identity_ != cluster.identity()) {
    identity_ = cluster.identity();
    for (std::size_t g = 0; g < shapes_.size(); ++g)
      shapes_[g] = shape_of(*cluster.platform().model(GpuId(g)).gpu, cluster.gpus()[g].target);
    events_ = period;
  }
  events_ += cluster.news().size();
  if (events_ < period) return;
  events_ = 0;
  planner_.wanted_shapes(cluster, shapes_);
  for (std::size_t g = 0; g < shapes_.size(); ++g) wanted.emplace_back(GpuId(g), shapes_[g]);
}

}  // namespace smartmig
