// Ports that jobs listen on (--port): each belongs to one live job, from when it is accepted. Thread rule: the owner's.
#pragma once
#include <map>
#include <set>

#include "queue/config/settings.h"
#include "queue/job_record.h"

namespace smartmig {

// The live job that has this port; kNoId: none.
QueueId holder_of_port(const std::map<QueueId, JobRecord>& live, int port);
// The least port that no live job has, that is not in `taken`, and on which nobody listens. kBusy: there is none.
Result<int> free_port(const std::map<QueueId, JobRecord>& live, const Settings::Ports& ports,
                      const std::set<int>& taken);

}  // namespace smartmig
