// The controller's jobs, GPUs and metrics in the format of docs/api.md. Pure; on the controller's thread.
#pragma once
#include "cluster/controller.h"
#include "queue/answers/fleet_json.h"
#include "queue/answers/metrics_text.h"
#include "queue/answers/why.h"
#include "queue/belief/live_fork.h"

namespace smartmig {

Json shown_short(const ClusterController& controller, const JobRecord& job);
Json shown_whole(const ClusterController& controller, const JobRecord& job);
Json gpu_json(const ClusterController& controller, GpuId gpu);
Json status_json(ClusterController& controller, const ClusterPast& past);
MetricsInput metrics_of(ClusterController& controller, const ClusterPast& past);
Result<Why> why_of(ClusterController& controller, QueueId id);
LiveFork fork_of(ClusterController& controller);  // of the jobs that the policy sees, by their numbers on the page

}  // namespace smartmig
