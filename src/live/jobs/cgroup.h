// Control groups of jobs, version 1, version 2 or both at once (hybrid machines have the controllers in v1 and the
// killing in v2). The daemon finds out once what the machine offers and records, for each attempt, which directories to
// create and what to write where; the supervisor only carries this out. Jobs must outlive the daemon and must not block
// its restart, so v2 groups are next to the daemon's own group, never inside it: in the delegated group above it if the
// daemon runs in a subgroup "daemon" (DelegateSubgroup= of systemd), else in /smartmig for root. If nothing is offered
// there are no limits, and words() says so. Thread rule: free.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace smartmig {

struct CgroupPlan {
  std::vector<std::string> directories;
  std::vector<std::pair<std::string, std::string>> settings;  // file, text; in this order
  std::string kill_file, freezer_file, peak_file, oom_file;   // empty: there is none
  std::string fenced;                                         // directory whose devices a program closes; empty: none
};
struct CgroupLimits {
  double cpus = 0;                        // 0: none
  int host_mem_mib = 0;                   // 0: none
  int processes = 0;                      // 0: none
  std::vector<std::string> device_nodes;  // empty: every device
};

// A machine's cgroups and the three things done with them; tests make a tree of their own.
struct CgroupTree {
  std::string mounts, self;  // text of /proc/self/mounts and /proc/self/cgroup
  bool root = false;
  std::function<bool(const std::string& path)> make;  // true: the directory exists and can be written
  std::function<bool(const std::string& file, const std::string& text)> write;
  std::function<std::string(const std::string& file)> read;
  // Version 2: denies an existing group all device files except these and those that every program opens.
  std::function<Result<Ok>(const std::string& path, const std::vector<std::string>& device_nodes)> fence;
  static CgroupTree of_this_machine();
  static CgroupTree of_this_machine(std::string mounts);  // as if these were all
};

class Cgroups {
 public:
  Cgroups() = default;  // offers nothing
  // Makes the directories above the jobs' where it may, and hands the controllers down to them.
  static Cgroups find(const CgroupTree& tree = CgroupTree::of_this_machine());
  // The same from the text of /proc/self/mounts and /proc/self/cgroup; touches nothing.
  static Cgroups from(const std::string& mounts, const std::string& self, bool root);

  CgroupPlan plan(const std::string& name, const CgroupLimits& limits) const;
  bool limits_devices() const { return v2_fence_ || !base_of("devices").empty(); }
  // What no file can say: makes the directory and closes devices to it, before the first process enters or again when a
  // job is given other devices. Without plan.fenced it does nothing.
  Result<Ok> fence(const CgroupPlan& plan, const CgroupLimits& limits) const;
  bool limits_memory() const { return has("memory"); }
  // What keeps jobs apart, and by what: {"device files", "BPF program on cgroup v2"}, {"CPUs", "nothing"}, ...
  std::vector<std::pair<std::string, std::string>> isolates() const;
  std::string words() const;  // "cgroups: cpu, devices, memory; killing by cgroup" or what is missing

 private:
  struct Place {
    std::string controller, base, mount;  // base: the directory above the jobs'
  };
  std::string base_of(const std::string& controller) const;
  bool has(const std::string& controller) const;
  std::vector<Place> v1_;
  std::string v2_;  // directory above the jobs'; empty: no v2
  std::vector<std::string> v2_controllers_;
  bool v2_fence_ = false;  // the kernel takes programs for devices, and v1 has no such controller
};

bool write_cgroup_file(const std::string& file, const std::string& text);
// Kills what lives in these groups and removes them; for a job whose supervisor is gone. False: something is left.
bool kill_cgroups(const std::vector<std::string>& directories);
// False: none of these groups has a process. A group that cannot be read may have one.
bool anybody_in(const std::vector<std::string>& directories);
// Processes whose environment holds SMARTMIG_ATTEMPT_TOKEN, with its value; of other users root alone sees it.
std::vector<std::pair<int, std::string>> processes_with_tokens();
std::string token_of_process(int pid);  // empty: none, or not to be seen
// Kills processes whose environment holds SMARTMIG_ATTEMPT_TOKEN=TOKEN for one of the tokens; how many it met.
int kill_by_token(const std::vector<std::string>& tokens);

}  // namespace smartmig
