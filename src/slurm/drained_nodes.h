// Nodes that Slurm drained because a Prolog or Epilog failed, and whether they may be resumed. Slurm then sets the
// reason to exactly "Prolog error" or "Epilog error", whatever failed. An operator who drains a node writes another
// reason, and such a node is never touched. After a single failure, the node is resumed after a moment. After `most`
// failures within an hour, it stays drained until an operator resumes it. The times are on disk, so a restarted
// controller continues to count. Owner's thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "slurm/snapshot.h"

namespace smartmig {

bool drained_by_hooks(const SlurmNode& node);  // and it answers slurmctld

class DrainedNodes {
 public:
  DrainedNodes(std::string file, int most) : file_(std::move(file)), most_(most) {}
  struct Verdict {
    std::string node, words;
    bool resume = false;
  };
  // What is new since the last look: who may go on now, and who stays drained from now on. What cannot be written down is
  // not resumed: it could not be counted.
  std::vector<Verdict> look(const std::vector<SlurmNode>& nodes, UnixTime now);

 private:
  struct Drained {
    UnixTime since{};
    bool told = false;
  };
  void read();
  Result<Ok> write() const;

  std::string file_;
  int most_;
  bool read_ = false;
  std::map<std::string, std::vector<UnixTime>> resumed_;
  std::map<std::string, Drained> drained_;
};

}  // namespace smartmig
