// The planner as a repartitioner: its sizes, every ceil(5 m / 8) events as the mean-field controller is asked, with any
// placer filling the slices. Shows how much of the planner's gain is layout and how much placement, and teaches the
// network.
#pragma once
#include "policy/planner/market_planner.h"

namespace smartmig {

class MarketLayouts : public Repartitioner {
 public:
  MarketLayouts(MarketOptions options, const Platform& platform);
  std::vector<Shape> initial() const override { return initial_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override;

 private:
  MarketPlanner planner_;
  std::vector<Shape> initial_, shapes_;
  std::uint64_t identity_ = 0, events_ = 0;
};

}  // namespace smartmig
