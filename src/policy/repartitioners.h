// Repartitioners that do not look at the queue.
//   none    every GPU whole
//   static  one fixed shape per GPU
//   twice   two sets of shapes a day: `day` from hour day_begin to night_begin, `night` otherwise
#pragma once
#include "policy/placer.h"

namespace smartmig {

class FixedShapes : public Repartitioner {
 public:
  explicit FixedShapes(std::vector<Shape> shapes) : shapes_(std::move(shapes)) {}
  std::vector<Shape> initial() const override { return shapes_; }
  void retarget(const Cluster&, std::vector<std::pair<GpuId, Shape>>&) override {}

 private:
  std::vector<Shape> shapes_;
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
  int last_ = -1;               // 1 day, 0 night
  std::uint64_t identity_ = 0;  // of the cluster it was asked of
};

std::vector<Shape> whole_gpus(const Platform& platform);

}  // namespace smartmig
