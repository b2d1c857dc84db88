// The world of the chaos test: a directory with a daemon's state and its jobs' evidence, the daemon as a process that
// is killed and started again, the emulated machine's faults, and what the clients did and were told. Thread rule:
// ChaosWorld's daemon functions on the killing thread; the rest as said.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "support/temp_dir.h"

namespace smartmig::chaos {

using Json = nlohmann::json;

struct Programs {
  std::string smartmig, job, emulated_job, control, cuda;  // paths
};
const Programs& programs();

// What a client asked for, under a name that is used once, and what it was told.
struct Submission {
  std::string name, role;
  bool preemptible = false, acknowledged = false;
  std::vector<std::uint64_t> ids;  // where acknowledged
};
struct Wishes {  // of one job, by its id
  int cancels = 0, cancels_granted = 0, requeues = 0;
  bool requeued_last = false;  // the last of them was to run it again
};

// What the clients know. Any thread.
class Ledger {
 public:
  void submitted(Submission submission);
  void cancelled(std::uint64_t job, bool granted);
  void requeued(std::uint64_t job);
  std::vector<Submission> submissions() const;
  std::map<std::uint64_t, Wishes> wishes() const;
  void did() { ++actions_; }
  std::uint64_t actions() const { return actions_; }

 private:
  mutable std::mutex mutex_;
  std::vector<Submission> submissions_;
  std::map<std::uint64_t, Wishes> wishes_;
  std::atomic<std::uint64_t> actions_{0};
};

class ChaosWorld {
 public:
  explicit ChaosWorld(std::uint64_t seed);
  ~ChaosWorld();  // nothing of this world is left running

  std::uint64_t seed() const { return seed_; }
  const std::string& root() const { return dir_.path(); }
  std::string evidence() const { return root() + "/evidence"; }
  std::string state() const { return root() + "/state"; }
  std::string machine() const { return state() + "/machine"; }
  std::string socket() const { return root() + "/s"; }
  std::string log() const { return root() + "/daemon.log"; }

  void start(int kill_at = 0);             // kill_at: of SMARTMIG_TEST_KILL_AT; 0: lives
  bool answers(double within_s);           // false: not within that time, or it has ended
  bool ended(double within_s);             // by itself
  void kill();                             // SIGKILL, and waits for it
  bool terminate(double within_s);         // SIGTERM; false: it had to be killed, or did not end with 0
  bool failed() const { return failed_; }  // it ended by itself otherwise than by SIGKILL

  // nvml-sim-ctl with these arguments. Any thread.
  Result<std::string> control(std::vector<std::string> arguments) const;
  // Processes that have something of this world open, or in their command line: "PID COMMAND".
  std::vector<std::string> processes() const;

 private:
  bool reap(double within_s);

  std::uint64_t seed_;
  TempDir dir_;
  pid_t daemon_ = -1;
  bool failed_ = false;
};

Result<Json> call(const ChaosWorld& world, const std::string& method, const std::string& path, const Json& body = {},
                  double timeout_s = 5);

}  // namespace smartmig::chaos
