// From the present layout of a GPU to a wanted one while some slices are busy: the fewest driver calls that do it.
//
//   destroy = from - to,  create = to - from,  keep = from & to;   legal iff destroy and busy are disjoint.
//
// For a wanted layout this is the set difference, which no sequence can undercut since each call moves one placement.
// For a wanted shape the layout is chosen first: among those of the shape that keep all that is busy, the one that
// keeps most of what is there. Destroys come before creates, both by start, so every state in between is a valid
// layout. Seconds are predictions from data/reconfig.csv, one call after another. Pure: no device, no clock.
#pragma once
#include "base/units.h"
#include "live/gpu/driver.h"
#include "mig/moves.h"
#include "mig/shape.h"

namespace smartmig {

struct ReshapeStep {
  Operation operation;
  Time predicted{};
};

struct ReshapePlan {
  Layout from, to;
  Move move;
  std::vector<ReshapeStep> steps;
  Time predicted{};
};

// kBusy names the busy slices that are in the way. REQUIRES: busy is a subset of from.
Result<ReshapePlan> plan_reshape(const GpuModel& model, Layout from, Layout busy, Layout to);
// kInvalid: the shape fits no layout of the model.
Result<ReshapePlan> plan_reshape(const ShapeTable& shapes, Layout from, Layout busy, Shape to);

// The table of all layouts made of the profiles in `shape`.
ShapeTable shapes_around(const GpuModel& model, Shape shape);

std::string names(const GpuModel& model, Layout layout);  // "2g.10gb@0 and 1g.5gb@6"

}  // namespace smartmig
