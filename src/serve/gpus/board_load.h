// Who ran on a board when, for one question: how much of its compute did others use while a job ran? On soft slices
// (MPS) that slows it down. Runs are told in any order; those that nobody can ask about any more are forgotten.
// Thread rule: one thread.
#pragma once
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace smartmig {

class BoardLoad {
 public:
  void began(std::uint64_t job, double share, UnixTime at);  // share: of the board's compute slices
  // The job has left the board. The mean share that others had meanwhile, 0..2 (slices of half the memory count whole);
  // 0 of one that is not known here.
  double ended(std::uint64_t job, UnixTime at);
  void clock_stepped(Time by);

 private:
  struct Run {
    std::uint64_t job;
    double share;
    UnixTime from, until;
  };
  std::vector<Run> runs_;
};

}  // namespace smartmig
