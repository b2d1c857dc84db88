// The daemon's figures for Prometheus, gathered on the owner thread.
#pragma once
#include "queue/answers/metrics_text.h"
#include "serve/daemon/daemon.h"

namespace smartmig {

MetricsInput metrics_of(const Daemon& daemon, const std::string& version);

}  // namespace smartmig
