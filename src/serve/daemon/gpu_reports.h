// Reports of the GPUs, and operators' orders about them: operations that ended, samples (energy, memory, processes,
// health), trouble, drains. Each report goes to who needs it: the belief, the meters, the jobs' joules, the memory
// watch; a board in trouble is blocked and its jobs are stopped. Thread rule: the owner's.
#pragma once
#include "base/moved.h"
#include "serve/attempts/attempts.h"
#include "serve/gpus/dead_memory.h"
#include "serve/gpus/memory_watch.h"
#include "serve/gpus/slice_guard.h"

namespace smartmig {

class GpuReports {
 public:
  GpuReports(const Settings& settings, LiveSession& session, LiveJobs& book, Boards& boards, const AttemptTable& table,
             Attempts& attempts, MemoryWatch& memory, Figures& figures, SliceQuarantine& quarantine, SliceGuard& guard)
      : settings_(settings),
        session_(session),
        book_(book),
        boards_(boards),
        table_(table),
        attempts_(attempts),
        memory_(memory),
        figures_(figures),
        dead_memory_(quarantine),
        guard_(guard) {}

  void take();  // all that has come
  // At the start of a step, when the fleet has nothing left to tell: GPUs that were read again are believed as they are, and
  // take work from then on.
  void believe_again();
  bool to_believe() const { return try_now_; }
  void sample_when_due();
  UnixTime next_sample() const { return next_sample_; }
  void clock_stepped(Time by) {
    next_sample_ = moved(next_sample_, by);
    for (auto& [gpu, since] : misread_) since = moved(since, by);
  }
  Result<Ok> drain(int gpu, bool on);                                       // out of service, or back to it
  void lend_drained();                                                      // those on which no job is any more
  void block_unusable();                                                    // at the start: the belief must know
  void set_trouble(int gpu, GpuTrouble trouble, const std::string& words);  // its jobs are stopped and go elsewhere

 private:
  void was_read_again(int gpu);
  void operation_ended(const LaneResult& result);
  void sampled(const LaneResult& result);
  void looked(const LaneResult& result);
  void credit(const EnergyInterval& interval);
  void see_memory(int gpu);

  const Settings& settings_;
  LiveSession& session_;
  LiveJobs& book_;
  Boards& boards_;
  const AttemptTable& table_;
  Attempts& attempts_;
  MemoryWatch& memory_;
  Figures& figures_;
  DeadMemory dead_memory_;
  SliceGuard& guard_;
  std::map<int, UnixTime> misread_;  // to be read again, since when
  std::set<int> read_again_;
  bool try_now_ = false;
  UnixTime next_sample_{};
};

}  // namespace smartmig
