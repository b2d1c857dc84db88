// One question and one answer over TCP, both sealed (seal.h): the client sends its text and closes its side, the server
// answers and closes. Nothing is kept between questions. Every wait has a limit, texts are at most kMostWire bytes.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "base/errors.h"
#include "base/units.h"

namespace smartmig {

inline constexpr std::size_t kMostWire = std::size_t(4) << 20;

// `address`: "127.0.0.1:6821" or "name:port". kTimeout, kIo: no answer.
Result<std::string> ask_over_wire(const std::string& address, const std::string& text, Time limit);

class WireServer {
 public:
  // Answers each connection on a thread of its own, at most 64 at a time; `answer` may be called by several at once.
  static Result<WireServer> listen(const std::string& address, std::function<std::string(const std::string&)> answer);
  WireServer(WireServer&& other) noexcept;
  WireServer& operator=(WireServer&&) = delete;
  ~WireServer();
  void run(const std::atomic<bool>& stop);  // until stop is set, looked at ten times a second; waits for its threads

 private:
  WireServer(int socket, std::function<std::string(const std::string&)> answer)
      : socket_(socket), answer_(std::move(answer)) {}
  void serve(int connection);
  int socket_ = -1;
  std::function<std::string(const std::string&)> answer_;
};

}  // namespace smartmig
