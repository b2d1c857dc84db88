// Checks paths that users name, each on a thread of its own. A directory on a network mount that is down may not answer
// for hours, and only the user who named it must wait. A check that takes too long is abandoned; its thread ends when
// the path answers. A user with several such checks is refused at once. Thread rule: any thread.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace smartmig {

class PathLooks {
 public:
  struct Seen {
    Result<Ok> reachable = Ok{};
    std::vector<std::string> not_held;  // of each job why it cannot start before its slice is free; empty: it can
  };
  static constexpr int kMostUnanswered = 3, kMostUnansweredInAll = 64;

  explicit PathLooks(Time patience = std::chrono::seconds(2)) : patience_(patience) {}
  // kTimeout: no answer; `what` is the path, in words. REQUIRES: `look` holds all that it needs.
  Result<Seen> at(std::uint32_t uid, const std::string& what, std::function<Seen()> look);
  int unanswered() const;

 private:
  struct Books {
    std::mutex mutex;
    std::map<std::uint32_t, int> of_user;
    int all = 0;
  };
  const Time patience_;
  std::shared_ptr<Books> books_ = std::make_shared<Books>();  // a look may outlive this object
};

}  // namespace smartmig
