// The daemon's figures for Prometheus, gathered on the owner thread.
#pragma once
#include "serve/daemon/daemon.h"
#include "serve/http/metrics_text.h"

namespace smartmig {

MetricsInput metrics_of(const Daemon& daemon, const std::string& version);

}  // namespace smartmig
