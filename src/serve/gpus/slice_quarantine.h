// Slices that are out of service while the rest of their GPU works. Such a slice is busy in the belief with a phantom,
// a job that nobody submitted, so that no policy counts on it, and the operator is told its name and why. What holds it
// starts nothing of ours: a phantom has no watts, also under a cap. Invariant: a phantom stands for each slice in
// BoardState::quarantined, and for no other. Thread rule: the owner's.
#pragma once
#include <map>

#include "queue/belief/live_session.h"
#include "serve/gpus/boards.h"

namespace smartmig {

class SliceQuarantine {
 public:
  explicit SliceQuarantine(LiveSession& session) : session_(session) {}

  static constexpr Time kLong = std::chrono::hours(24 * 365);

  // `expected`: until the slice is back, for plans. `holder` names the phantom: "dead process 17". False: the belief has no such slice, or somebody on it.
  bool put(SliceKey key, BoardState& state, std::string holder, const std::string& words, Time expected = kLong);
  // What was expected back soon stays out of service. REQUIRES: put() was true.
  void keep(SliceKey key, BoardState& state, std::string holder, const std::string& words);
  void lift(SliceKey key, BoardState& state);  // nothing, where it is not out of service

 private:
  JobRecord phantom(QueueId id, std::string holder, Time expected) const;
  void say(SliceKey key, BoardState& state, const std::string& words);

  LiveSession& session_;
  std::map<SliceKey, QueueId> phantoms_;
  std::uint64_t last_ = 0;
};

}  // namespace smartmig
