// One request and one reply over TCP, both sealed (seal.h). The client sends its text and closes its side; the server
// replies and closes. Connections are not reused. Every wait has a time limit, and texts have at most kMostWire bytes.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "base/errors.h"
#include "base/units.h"

namespace smartmig {

// How long to wait for an answer: so long, or until somebody says that nobody waits any more.
struct Patience {
  Time limit{};
  const std::atomic<bool>* given_up = nullptr;
  Patience(Time time, const std::atomic<bool>* flag = nullptr) : limit(time), given_up(flag) {}
};

inline constexpr std::size_t kMostWire = std::size_t(4) << 20;

// `address`: "127.0.0.1:6821" or "name:port". kTimeout, kIo: no answer.
Result<std::string> ask_over_wire(const std::string& address, const std::string& text, Patience patience);

class WireServer {
 public:
  // Answers each connection on a thread of its own, at most 64 at a time; `answer` may be called by several at once.
  static Result<WireServer> listen(const std::string& address, std::function<std::string(const std::string&)> answer);
  WireServer(WireServer&& other) noexcept;
  WireServer& operator=(WireServer&&) = delete;
  ~WireServer();
  int port() const;
  void run(const std::atomic<bool>& stop);  // until stop is set, looked at ten times a second; waits for its threads

 private:
  WireServer(int socket, std::function<std::string(const std::string&)> answer)
      : socket_(socket), answer_(std::move(answer)) {}
  void serve(int connection);
  int socket_ = -1;
  std::function<std::string(const std::string&)> answer_;
};

}  // namespace smartmig
