// An answer that takes seconds to make and that every open page asks for: made by the first who asks, and given to all
// who ask while it is being made, and after that as long as the state it was made of holds. Thread rule: any thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace smartmig {

class SharedAnswer {
 public:
  using Json = nlohmann::json;
  using Clock = std::chrono::steady_clock;
  explicit SharedAnswer(Clock::duration kept = std::chrono::seconds(10)) : kept_(kept) {}

  // `question`: which of several answers; `state`: what it is made of. An answer is given again for the same state for
  // `kept`, since time goes on in any state; an error is not kept.
  Result<Json> get(const std::string& question, const std::string& state, const std::function<Result<Json>()>& make);

 private:
  struct Entry {
    bool busy = false;
    std::uint64_t made = 0;  // answers so far
    std::string state;
    Clock::time_point at{};
    Result<Json> answer = Json();
  };
  const Clock::duration kept_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;  // nodes stay where they are
};

}  // namespace smartmig
