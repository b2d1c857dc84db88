// Why a job of the living queue waits: gathers what why.h asks for. On the owner's thread.
#pragma once
#include "queue/answers/why.h"
#include "serve/daemon/daemon.h"

namespace smartmig {

Result<Why> why_now(Daemon& daemon, QueueId id);

}  // namespace smartmig
