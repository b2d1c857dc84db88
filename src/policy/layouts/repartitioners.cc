#include "policy/layouts/repartitioners.h"

namespace smartmig {

void ShapeKeeper::ask(const Cluster& cluster, const std::vector<Shape>& shapes,
                      std::vector<std::pair<GpuId, Shape>>& wanted) {
  const std::uint64_t asked = cluster.counters().repartitions;
  if (shapes_ == &shapes && all_right_ && identity_ == cluster.identity() && asked_ == asked) return;
  if (shapes_ != &shapes) {
    shapes_ = &shapes;
    right_.assign(shapes.size(), Layout{});
  }
  const std::size_t before = wanted.size();
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const Layout target = cluster.gpus()[g].target;
    if (target == right_[g] && !target.empty()) continue;
    if (shape_of(*cluster.platform().model(GpuId(g)).gpu, target) == shapes[g])
      right_[g] = target;
    else
      wanted.emplace_back(GpuId(g), shapes[g]);
  }
  all_right_ = wanted.size() == before;
  identity_ = cluster.identity();
  asked_ = asked;
}

bool TwiceDaily::Schedule::is_day(Time now) const {
  const int hour = int(now.count() / 3'600'000'000 % 24);
  if (day_begin == night_begin) return true;
  return day_begin < night_begin ? hour >= day_begin && hour < night_begin : hour >= day_begin || hour < night_begin;
}

void TwiceDaily::retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) {
  keeper_.ask(cluster, schedule_.is_day(cluster.now()) ? schedule_.day : schedule_.night, wanted);
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

Result<std::vector<Shape>> parse_shapes(const Platform& platform, const std::vector<std::string>& shapes, bool cyclic) {
  if (!cyclic && shapes.size() != 1 && shapes.size() != platform.gpus())
    return invalid("{} layouts for {} GPUs; give one per GPU, or one for all", shapes.size(), platform.gpus());
  std::vector<Shape> out;
  for (std::size_t g = 0; g < platform.gpus(); ++g) {
    SMARTMIG_TRY(const Shape shape, parse_shape(*platform.model(GpuId(g)).gpu, shapes[g % shapes.size()]));
    out.push_back(shape);
  }
  return out;
}

}  // namespace smartmig
