// Slurm as this program uses it: queries that return everything at once, and actions in batches. Implementations:
// Slurm's own commands (slurm_commands.h), and a cluster in memory in tests. A refused action is not an error here: the
// next snapshot shows the result, and the caller decides again.
#pragma once
#include <string>
#include <vector>

#include "slurm/snapshot.h"

namespace smartmig {

struct SlurmAction {
  enum What : std::uint8_t {
    kPin,      // the job may run on `node` alone; a task of an array gets a record of its own
    kRelease,  // a held job may start
    kHold,
    kRequeue,  // a running job goes back into the queue, held
    kNote,     // AdminComment of a waiting or running job becomes `text`
    kAccount,  // AdminComment of an ended job in Slurm's accounts becomes `text`; nothing where there are none
    kPublish,  // the comment of `node` becomes `text`
    kResume,   // a drained `node` takes jobs again
  } what = kHold;
  ClusterJobName job;
  std::string node, text;
  std::uint32_t number = 0;  // kAccount: SLURM_JOB_ID; 0: it has none
  bool operator==(const SlurmAction&) const = default;
};

class Slurm {
 public:
  virtual ~Slurm() = default;
  virtual Result<std::vector<SlurmJob>> jobs() = 0;  // of all partitions, ended ones for as long as slurmctld has them
  virtual Result<std::vector<SlurmNode>> nodes() = 0;
  // All of them, in order. An error: slurmctld could not be asked, and some may have been done.
  virtual Result<Ok> act(const std::vector<SlurmAction>& actions) = 0;
};

}  // namespace smartmig
