// Folds a journal back into the Cluster it came from. Decisions are part of the state (a stop and start within one
// decision is a move, not a preemption) but no events. An arrival or a completion begins a decision, and so does an
// instance change that took time. Under paper costs, instance changes happen inside a decision.
#pragma once
#include "model/cluster.h"

namespace smartmig {

bool begins_decision(const CostModel& cost, EventKind kind);

// Applies one event as the session did. REQUIRES: objection_to() is empty.
void fold(Cluster& cluster, const Event& event);

// Says why this event cannot happen now; empty if it can. Never stops the program, whatever the event holds. Layouts
// must come from the GPU's model.
std::string objection_to(const Cluster& cluster, const Event& event);

}  // namespace smartmig
