#include "policy/repartitioners.h"

namespace smartmig {

bool TwiceDaily::Schedule::is_day(Time now) const {
  const int hour = int(now.count() / 3'600'000'000 % 24);
  if (day_begin == night_begin) return true;
  return day_begin < night_begin ? hour >= day_begin && hour < night_begin : hour >= day_begin || hour < night_begin;
}

void TwiceDaily::retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) {
  const bool day = schedule_.is_day(cluster.now());
  if (last_ == int(day) && identity_ == cluster.identity()) return;
  last_ = int(day);
  identity_ = cluster.identity();
  const std::vector<Shape>& shapes = day ? schedule_.day : schedule_.night;
  for (std::size_t g = 0; g < shapes.size(); ++g) wanted.emplace_back(GpuId(g), shapes[g]);
}

std::vector<Shape> whole_gpus(const Platform& platform) {
  std::vector<Shape> shapes;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    const GpuModel& gpu = *platform.model(GpuId(g)).gpu;
    Shape shape;
    for (std::size_t p = 0; p < gpu.profiles().size(); ++p)
      if (gpu.profiles()[p].variant == Variant::kPlain && gpu.profiles()[p].compute_slices == gpu.compute_slices()) {
        shape.add(int(p));
        break;
      }
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace smartmig
