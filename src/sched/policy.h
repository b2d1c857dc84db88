// The interface of every decision maker: heuristics, planner, network, scripted tests.
// A policy is pure: it sees the belief and writes a plan; no clock, no I/O, no hardware. It may keep what it derives
// from the belief between calls (cluster.news() says what changed), and must cope with a cluster it has never seen.
#pragma once
#include "model/cluster.h"
#include "model/plan.h"

namespace smartmig {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void decide(const Cluster& cluster, Plan& plan) = 0;  // plan is empty on entry
};

}  // namespace smartmig
