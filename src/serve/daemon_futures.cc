#include "serve/daemon_service.h"
namespace smartmig {
Result<Service::Json> DaemonService::why(const Caller&, std::uint64_t) { return unsupported("not yet"); }
Result<Service::Json> DaemonService::eta(const Caller&, std::uint64_t) { return unsupported("not yet"); }
Result<Service::Json> DaemonService::whatif(const Caller&, const Json&) { return unsupported("not yet"); }
}  // namespace smartmig
