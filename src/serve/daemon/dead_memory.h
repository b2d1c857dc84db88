// Slices on which only dead processes hold memory. Such a slice is of no use to anyone: in the belief it is busy with a
// phantom, a job that nobody submitted, so that no policy counts on it, and the operator is told its name. A process that
// is gone starts nothing on the GPU: its memory alone draws no more than the idle board, so a phantom has no watts, also under
// a cap. The slice returns when the memory is free, or when the slice is gone (a reset).
// Invariant: a phantom stands for each slice in BoardState::quarantined, and for no other. Thread rule: the owner's.
#pragma once
#include <map>
#include <set>

#include "serve/daemon/boards.h"
#include "serve/daemon/live_session.h"

namespace smartmig {

class DeadMemory {
 public:
  explicit DeadMemory(LiveSession& session) : session_(session) {}

  // After a sample of this board. `in_use`: whose processes are on a slice, or about to be, is known.
  void look(int gpu, BoardState& state, const std::function<bool(SliceKey)>& in_use);

 private:
  struct Held {
    int mib = 0;
    std::uint32_t pid = 0;  // one of them
  };
  void take_out_of_service(SliceKey key, BoardState& state, const Held& held);
  void back_in_service(SliceKey key, BoardState& state);

  LiveSession& session_;
  std::map<SliceKey, QueueId> phantoms_;
  std::map<SliceKey, int> seen_;  // samples in a row
  std::uint64_t last_ = 0;
};

}  // namespace smartmig
