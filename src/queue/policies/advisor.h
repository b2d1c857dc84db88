// Compares policies on futures of the living fleet, next to the owner thread: from one fork, each candidate's outcome.
// One question at a time; a new one while it thinks is dropped. What for: the shadow policy's cost (what another policy
// would bring from here on), and the guard (is a learned policy about to do worse than a plain one?). Thread rule:
// ask() and take() on the owner thread; `done` is called on the advisor's.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eval/futures.h"

namespace smartmig {

class Advisor {
 public:
  struct Candidate {
    std::string name;
    PolicyMaker policy;
  };
  struct Answer {
    Time asked{};
    std::vector<std::string> names;
    std::vector<std::optional<Outcome>> outcomes;  // of the candidates; nothing: it fails there
  };
  // Inline: the answer is there when ask() returns (a virtual clock must not move meanwhile).
  Advisor(bool in_line, std::function<void()> done) : in_line_(in_line), done_(std::move(done)) {}
  ~Advisor();

  bool ask(Fork fork, std::vector<Candidate> candidates);
  std::optional<Answer> take();

 private:
  static Answer think(const Fork& fork, const std::vector<Candidate>& candidates);
  void work();

  const bool in_line_;
  std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<std::pair<Fork, std::vector<Candidate>>> question_;
  std::optional<Answer> answer_;
  bool thinking_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace smartmig
