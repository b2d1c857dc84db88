// Repartitioners that do not look at the queue. Each asks wherever a GPU's target is not the shape it is to have, at
// every decision: so the shapes come about wherever the fleet stands when the policy takes over (a daemon's first step,
// a fork, a state read by `decide`), and come back after something else has changed a GPU.
//   none    every GPU whole
//   static  one fixed shape per GPU
//   twice   two sets of shapes a day: `day` from hour day_begin to night_begin, `night` otherwise
#pragma once
#include "policy/placer.h"

namespace smartmig {

// Appends the GPUs whose target has another shape. Remembers targets that were right, and looks
// at none as long as all were and nobody has asked for another.
class ShapeKeeper {
 public:
  void ask(const Cluster& cluster, const std::vector<Shape>& shapes, std::vector<std::pair<GpuId, Shape>>& wanted);

 private:
  const std::vector<Shape>* shapes_ = nullptr;  // that right_ is about
  std::vector<Layout> right_;                   // by GPU: a target of this shape
  bool all_right_ = false;
  std::uint64_t identity_ = 0, asked_ = 0;  // cluster and its count of reshapes at the last look
};

class FixedShapes : public Repartitioner {
 public:
  explicit FixedShapes(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {}
  std::vector<Shape> initial() const override { return shapes_; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override {
    keeper_.ask(cluster, shapes_, wanted);
  }

 private:
  std::vector<Shape> shapes_;
  ShapeKeeper keeper_;
};

class TwiceDaily : public Repartitioner {
 public:
  struct Schedule {
    std::vector<Shape> day, night;
    int day_begin = 8, night_begin = 20;  // hours of the day, 0..23; equal: always day
    bool is_day(Time now) const;
  };
  explicit TwiceDaily(Schedule schedule) : schedule_(std::move(schedule)) {}
  std::vector<Shape> initial() const override { return schedule_.is_day(Time{0}) ? schedule_.day : schedule_.night; }
  void retarget(const Cluster& cluster, std::vector<std::pair<GpuId, Shape>>& wanted) override;

 private:
  Schedule schedule_;
  ShapeKeeper keeper_;
};

std::vector<Shape> whole_gpus(const Platform& platform);

// One shape per GPU from a list of shapes separated by commas; a single one serves all GPUs; with `cyclic`, a shorter
// list is repeated over the fleet.
Result<std::vector<Shape>> parse_shapes(const Platform& platform, const std::vector<std::string>& shapes, bool cyclic);

}  // namespace smartmig
