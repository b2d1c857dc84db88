// The runs of `smartmig profile`: runs one command through a daemon on each requested slice size, as often as
// requested, and records time, memory, joules and the printed progress. Sizes that cannot be measured are reported on
// stderr and in notes. One thread, except for give_up().
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "cli/queue/daemon_options.h"
#include "eval/profile_rows.h"
#include "mig/gpu_model.h"

namespace smartmig::cli {

struct ProfilePlan {
  Json spec;  // but memory and slices
  std::string pattern;
  int repeat = 1;
};

class Profiling {
 public:
  Profiling(const ProfilePlan& plan, std::vector<std::string>& notes) : plan_(plan), notes_(notes) {}

  Result<Ok> size(DaemonClient& client, const Profile& wanted);
  const std::vector<ProfileRun>& runs() const { return runs_; }
  // From another thread: cancels what runs and lets nothing more begin.
  void give_up(Result<DaemonClient> client);

 private:
  void note(std::string words);
  // Whether it ran on the size asked for. given_up_: it does not run there.
  Result<bool> once(DaemonClient& client, const Profile& wanted);

  const ProfilePlan& plan_;
  std::vector<std::string>& notes_;
  std::vector<ProfileRun> runs_;
  bool given_up_ = false;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> job_{0};  // that runs
};

}  // namespace smartmig::cli
