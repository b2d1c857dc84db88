// Jobs without processes: each ends its predicted time after its start, on the daemon's clock, and until then keeps its
// emulated slice busy, with its kind and its memory. A job with a script (emulated_script.h) takes the script's time
// and memory instead: its memory on the slice is brought up to date by every poll(), and it fails at the instant at
// which it would pass what the slice has. For emulation at scale and for runs on a virtual clock that must repeat to
// the microsecond. Such jobs do not outlive the daemon: after a restart all of them are reported as ended. Exits of one
// instant come by job id. Thread rule: as JobRunner.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "live/emulation/emulated_script.h"
#include "live/emulation/sim_library.h"
#include "live/jobs/runner.h"
#include "live/live_clock.h"

namespace smartmig {

class InProcessRunner : public JobRunner {
 public:
  // Without a library no slice shows as busy.
  explicit InProcessRunner(LiveClock& clock, std::shared_ptr<SimLibrary> sim = nullptr);
  ~InProcessRunner() override;  // what runs leaves its slice

  Result<Ok> start(const Launch& launch) override;
  using JobRunner::stop;
  Result<Ok> stop(AttemptId id, int first_signal, Time grace, StopReason why) override;  // ends it now, as by SIGTERM
  Result<Ok> suspend(AttemptId id, bool on) override;
  Result<Found> recover(const std::vector<AttemptId>& expected) override;
  std::vector<AttemptExit> poll() override;
  UnixTime next_due() const override;
  std::vector<AttemptId> others_on(const std::string& device, AttemptId mine) override;
  std::string log_path(AttemptId) const override { return ""; }
  void forget(std::uint64_t) override {}

 private:
  // Its own times are those of LiveClock::steady(), which cannot be set; exits carry the time of day.
  UnixTime steady() const;
  struct Due {
    UnixTime at;
    AttemptId id;
    auto operator<=>(const Due&) const = default;
  };
  struct Running {
    std::string device;         // UUID of its slice
    unsigned int token = 0;     // of its stand-in; 0: none
    UnixTime started{}, due{};  // due kNeverUnix: suspended
    Time left{};                // of a suspended one
    std::optional<EmulatedScript> script;
    double done = 0;        // share of the work behind it when it started
    double whole_s = 0;     // of the whole job here
    double shown_mib = -1;  // on the slice
    double lacks_mib = 0;   // above 0: it fails when due, and this is what it needs by then
  };
  Result<Ok> follow_script(const Launch& launch, Running& job) const;
  void show_memory(Running& job, UnixTime now);
  void end(std::map<AttemptId, Running>::iterator at, UnixTime when, int code, int signal, std::string words);
  void end_as_due(std::map<AttemptId, Running>::iterator at);

  LiveClock& clock_;
  std::shared_ptr<SimLibrary> sim_;
  unsigned int last_token_ = 0;
  std::map<AttemptId, Running> running_;
  std::set<Due> due_;
  std::vector<AttemptExit> ended_;
};

}  // namespace smartmig
