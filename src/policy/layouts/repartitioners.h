// Repartitioners that ignore the queue. At every decision, each asks for its shape on every GPU whose target differs.
// So the shapes come about wherever the fleet stands when the policy takes over (a daemon's first step, a fork, a state
// read by `decide`), and return after something else has changed a GPU.
//   none    every GPU whole
//   static  one fixed shape per GPU
//   twice   two sets of shapes per day: `day` from hour day_begin to night_begin, `night` otherwise
#pragma once
#include "policy/placing/placer.h"

namespace smartmig {

// Appends the GPUs whose target has another shape. Remembers correct targets, and checks none as long as all are
// correct and no reshape was requested.
class ShapeKeeper {
 public:
  void ask(const Cluster& cluster, const std::vector<Shape>& shapes, std::vector<std::pair<GpuId, Shape>>& wanted);

 private:
  const std::vector<Shape>* shapes_ = nullptr;  // the shapes that right_ refers to
  std::vector<Layout> right_;                   // by GPU: a target with the right shape
  bool all_right_ = false;
  std::uint64_t identity_ = 0, asked_ = 0;  // the cluster, and its count of reshapes, at the last check
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

// One shape per GPU from a comma-separated list of shapes. A single shape serves all GPUs. With `cyclic`, a shorter
// list repeats over the fleet.
Result<std::vector<Shape>> parse_shapes(const Platform& platform, const std::vector<std::string>& shapes, bool cyclic);

}  // namespace smartmig
