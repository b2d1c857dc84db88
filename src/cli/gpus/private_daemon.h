// A temporary daemon: `smartmig serve` as a child process, with its own configuration and state below a temporary
// directory. It can be restarted with another configuration and the same state. The destructor stops it and removes the
// directory. One thread.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/queue/http_client.h"

namespace smartmig::cli {

class PrivateDaemon {
 public:
  // `options` of serve, such as {"--emulate", "1xa100-40gb"}.
  static Result<PrivateDaemon> prepare(std::vector<std::string> options);
  PrivateDaemon(PrivateDaemon&& other) noexcept;
  PrivateDaemon& operator=(PrivateDaemon&&) = delete;
  ~PrivateDaemon();

  // Ends the one before and waits until the new one takes jobs. The error holds what it said.
  Result<HttpClient> start(const std::string& config);
  Result<HttpClient> connect() const;  // another client of the same; any thread
  void stop();

 private:
  PrivateDaemon(std::string folder, std::vector<std::string> options)
      : folder_(std::move(folder)), options_(std::move(options)) {}
  std::string folder_;
  std::vector<std::string> options_;
  pid_t child_ = -1;
};

}  // namespace smartmig::cli
