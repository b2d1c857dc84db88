#include "live/gpu/reshape.h"

#include <algorithm>

#include "model/reconfig.h"

namespace smartmig {

std::string names(const GpuModel& model, Layout layout) {
  std::vector<PlacementId> order;
  for (PlacementId p : layout) order.push_back(p);
  std::sort(order.begin(), order.end(),
            [&](PlacementId a, PlacementId b) { return model.placement(a).start < model.placement(b).start; });
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i)
    text += (i == 0 ? "" : i + 1 == order.size() ? " and " : ", ") + slice_name(model, order[i]);
  return text;
}

Result<ReshapePlan> plan_reshape(const GpuModel& model, Layout from, Layout busy, Layout to) {
  SMARTMIG_CHECK(from.contains(busy), "busy slices that do not exist");
  ReshapePlan plan{from, to, move_between(from, to), {}, {}};
  if (!legal(plan.move, busy)) {
    const Layout touched = plan.move.destroy & busy;
    return busy_error("{} {} busy and must make room for {}; wait for {}, or choose a layout that keeps {}",
                      names(model, touched), touched.size() == 1 ? "is" : "are", to_string(model, to),
                      touched.size() == 1 ? "it" : "them", touched.size() == 1 ? "it" : "them");
  }
  for (const Operation& operation : operations(model, plan.move)) {
    const ReconfigTime time = reconfig_time(model, model.placement(operation.placement).profile);
    plan.steps.push_back({operation, operation.kind == Operation::kCreate ? time.create : time.destroy});
    plan.predicted += plan.steps.back().predicted;
  }
  return plan;
}

Result<ReshapePlan> plan_reshape(const ShapeTable& shapes, Layout from, Layout busy, Shape to) {
  const GpuModel& model = shapes.model();
  const auto layout = shapes.realise(to, from, busy);
  if (!layout) return invalid("{} fits on no layout of {}", to_string(model, to), model.name());
  if (const Layout lost = busy - *layout; !lost.empty())
    return busy_error(
        "no layout of {} keeps the busy slices: at least {} would be destroyed; wait, or choose "
        "another shape",
        to_string(model, to), names(model, lost));
  return plan_reshape(model, from, busy, *layout);
}

ShapeTable shapes_around(const GpuModel& model, Shape shape) {
  ProfileMask mask = 0;
  for (std::size_t i = 0; i < model.profiles().size(); ++i)
    if (shape.count(int(i)) > 0) mask |= ProfileMask(1) << i;
  return ShapeTable(model, mask);
}

}  // namespace smartmig
