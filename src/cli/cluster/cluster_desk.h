// The page and the API of a process that controls a cluster, for any kind of controller. Destroy it after the
// controllers.
#pragma once
#include <string>

#include "cli/http_doors.h"
#include "cluster/cluster_service.h"
#include "http/api.h"
#include "http/page.h"

namespace smartmig::cli {

class ClusterDesk {
 public:
  ClusterDesk(LiveClock& clock, const EngineWords& words)
      : clock_(clock), past_(clock.now()), service_(clock, past_, words, SMARTMIG_VERSION) {}
  ~ClusterDesk() { service_.close(); }
  // `state_dir`: of the page's token.
  Result<Ok> open(Settings settings, const std::string& state_dir) {
    settings.places.state_dir = state_dir;
    SMARTMIG_TRY(doors_, open_doors(page_, settings, false));
    return Ok{};
  }
  ClusterController::Options given(ClusterController::Options options) {
    if (!doors_.page && !doors_.remote) return options;
    options.past = &past_;
    options.attend = [this](ClusterController& controller) { service_.serve(&controller); };
    return options;
  }
  // Without a controller for a while; who asks is told so.
  void wait(Time time, const std::atomic<bool>& stop) {
    for (const UnixTime until = clock_.now() + time; !stop && !clock_.wait_until(until);) service_.serve(nullptr);
    service_.serve(nullptr);
  }

 private:
  LiveClock& clock_;
  ClusterPast past_;
  ClusterService service_;
  Api api_{service_, SMARTMIG_VERSION};
  PageHandler page_{api_};
  HttpDoors doors_;
};

}  // namespace smartmig::cli
