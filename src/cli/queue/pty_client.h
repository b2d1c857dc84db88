// The client of `smartmig run --pty`: connects this terminal to the job until the job ends. Meanwhile the terminal is
// raw, so keys such as Ctrl-C reach the job. Main thread; one instance at a time.
#pragma once
#include "cli/queue/daemon_options.h"

namespace smartmig::cli {

class PtyClient {
 public:
  // Begins to listen. kInvalid: standard input is no terminal. Before threads are made: it blocks SIGWINCH.
  static Result<PtyClient> open();
  PtyClient(PtyClient&& other) noexcept;
  ~PtyClient();

  // The job as it is to be sent: the command under smartmig, which knows where to connect.
  Result<Json> wrapped(Json spec) const;
  // Until the job is final; the job. Where the daemon cannot be reached at its end, with the exit code that the job told.
  Result<Json> serve(DaemonClient& client, std::uint64_t id);

 private:
  PtyClient() = default;
  bool relay(int connection);  // false: it ended without saying its code

  int listener_ = -1, resized_ = -1, code_ = -1;
  std::string name_;
};

}  // namespace smartmig::cli
