// Slurm through squeue, sinfo, scontrol and sacctmgr, which are stable across versions and need no linking. A query is
// one process. Actions go to one scontrol through its standard input, some hundred at a time, except for notes with
// blanks. Any thread.
#pragma once
#include <optional>

#include "slurm/slurm.h"

namespace smartmig {

class SlurmCommands : public Slurm {
 public:
  explicit SlurmCommands(std::vector<std::string> partitions) : partitions_(std::move(partitions)) {}
  Result<std::vector<SlurmJob>> jobs() override;
  Result<std::vector<SlurmNode>> nodes() override;
  Result<Ok> act(const std::vector<SlurmAction>& actions) override;
  const std::string& last_words() const { return last_words_; }  // what scontrol complained about

 private:
  std::vector<std::string> partitions_;
  std::string last_words_;
  std::optional<bool> counts_memory_;  // asked once
};

// The lines of all of them, in order; a pin and the note behind it are one request.
std::vector<std::string> scontrol_lines(const std::vector<SlurmAction>& actions);
// Requests to slurmctld and slurmdbd that these lines take, as sdiag of 22.05 counts them: scontrol asks for the job
// and the federation before it changes a job's nodes.
std::size_t requests_of(const std::vector<std::string>& lines);
// The line that scontrol (kAccount: sacctmgr) reads for it. Texts lose what would end them: quotes and control
// characters.
std::string scontrol_line(const SlurmAction& action);
Result<std::string> slurm_version();      // "22.05.8"
Result<std::string> slurm_config_text();  // scontrol show config

}  // namespace smartmig
