// The state of slurmctld at one moment, limited to what matters here: jobs from `squeue --json`, nodes from `sinfo`.
// The readers accept the output of several Slurm versions: missing fields read as absent, numbers may be plain or
// {"set":..,"number":..}, and states may be a text or a list. Tested with 22.05 and 26.05.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cluster/workload.h"

namespace smartmig {

struct SlurmJob {
  enum Phase : std::uint8_t { kPending, kRunning, kCompleting, kEnded } phase = kPending;
  ClusterJobName name;
  std::uint32_t number = 0;  // SLURM_JOB_ID; 0: a task that has no record of its own yet
  int array_limit = 0;       // tasks at once; 0: no limit
  std::uint32_t uid = 0;
  std::string state, reason;  // "PENDING", "JobHeldAdmin"
  std::string title, partition, dependency, comment, admin_comment;
  std::string required_nodes, nodes;
  std::string excluded_nodes, features, reservation;  // as its owner wrote them: "n[1-2]", "big&fast"
  int cpus = 1;
  int mem_mib = 0;          // 0: none named, so it takes a whole node's where memory is counted
  bool whole_node = false;  // --exclusive
  std::string user, directory;
  std::string output, errors;  // where they go, as its owner wrote it: may be empty, relative and with %j and the like
  bool held = false;
  bool held_by_user = false;  // its comment says smartmig-hold: to Slurm every job that waits for a slice is held
  bool requeue = false;
  int restarts = 0;
  Time time_limit{};                                  // 0: none, or not known
  UnixTime submitted{}, begin{}, started{}, ended{};  // begin: not before; 0: not known

  bool completed() const { return state == "COMPLETED"; }
};

struct SlurmNode {
  std::string name, address;
  bool up = false;  // takes jobs: not down, drained or failing
  std::string state;
  int units = 0;       // of the gres mig
  std::string reason;  // why it is drained or down, as who did it wrote; empty: it is not
  std::vector<std::string> partitions, features;
  std::vector<std::string> reservations;  // active ones: only their jobs may run here
  int cpus = 0, cpus_taken = 0;           // 0: not known
  int mem_mib = 0, mem_taken_mib = 0;     // 0: not counted
  bool operator==(const SlurmNode&) const = default;
};

// Arrays are taken apart: each waiting task is a job. At most `tasks_of_array` of one array, the first ones. A reply
// that names errors is one: 22.05 prints it with no job and exits with 0 while slurmctld is gone.
Result<std::vector<SlurmJob>> parse_squeue_json(std::string_view text, std::size_t tasks_of_array = 1000);
// "1-3,7,10-20:5%4"; beyond `most` the rest is left out. kInvalid: not such a list.
Result<std::vector<int>> parse_task_list(std::string_view text, std::size_t most);
// Lines of sinfo, one for each node and partition, fields separated by '|': name, state, address, gres, partition,
// active features, CPUs as allocated/idle/other/total, memory, allocated memory (MiB), reason.
Result<std::vector<SlurmNode>> parse_sinfo(std::string_view text);
// `scontrol show reservation -o`: names of the active ones are added to their nodes. A node that is only reserved is
// up.
void add_reservations(std::string_view text, std::vector<SlurmNode>& nodes);

}  // namespace smartmig
