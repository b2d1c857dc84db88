// The controller's jobs, GPUs and figures in the words of docs/api.md. Pure; on the controller's thread.
#pragma once
#include "serve/daemon/fleet_json.h"
#include "serve/daemon/live_fork.h"
#include "serve/daemon/why.h"
#include "serve/http/metrics_text.h"
#include "slurm/controller.h"

namespace smartmig {

Json shown_short(const SlurmController& controller, const JobRecord& job);
Json shown_whole(const SlurmController& controller, const JobRecord& job);
Json gpu_json(const SlurmController& controller, GpuId gpu);
Json status_json(SlurmController& controller, const SlurmPast& past);
MetricsInput metrics_of(SlurmController& controller, const SlurmPast& past);
Result<Why> why_of(SlurmController& controller, QueueId id);
LiveFork fork_of(SlurmController& controller);  // of the jobs that the policy sees, by their numbers on the page

}  // namespace smartmig
