// One MPS control daemon: started for one GPU with pipe and log directories of its own, spoken to through the control
// program, stopped by it. Facts used: the daemon serves whatever CUDA_VISIBLE_DEVICES named when it started; clients
// find it by CUDA_MPS_PIPE_DIRECTORY; the log names the client of a fatal fault. Thread rule: one thread per daemon.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/jobs/run_program.h"

namespace smartmig {

class MpsControl {
 public:
  // `root`/UUID/pipe and /log; a socket path must stay short, so `root` should.
  MpsControl(std::string program, std::string root, std::string gpu_uuid, bool multi_user);

  Result<Ok> start();  // no effect while it runs: one that has answered is not asked again while its process lives
  Result<Ok> stop();   // no effect while it does not; waits until it is gone
  bool running() const;
  bool running_still() const;  // asks again before it says no
  bool process_lives() const;  // by the file with its pid; no question
  Result<std::string> ask(const std::string& command) const;
  Result<std::vector<std::uint32_t>> clients() const;  // pids; empty without a server
  const std::string& pipe_directory() const { return pipe_; }
  const std::string& log_directory() const { return log_; }

 private:
  ProgramRun prepared() const;
  std::string program_, gpu_, pipe_, log_;
  bool multi_user_;
  bool answered_ = false;
};

// A fatal fault as the server's log tells it. The culprit is the first client named in a line about a fatal exception.
struct MpsFault {
  std::uint32_t culprit = 0;              // 0: the log does not say
  std::vector<std::uint32_t> collateral;  // the other clients of that server: their work is to be run again
  std::string line;
};
std::optional<MpsFault> find_fault(std::string_view log, const std::vector<std::uint32_t>& clients);

}  // namespace smartmig
