// What the GPUs report, and what operators say about them: operations that ended, samples (energy, memory, processes,
// health), trouble, drains. Each report goes to who needs it: the belief, the meters, the jobs' joules, the memory
// watch; a board in trouble is blocked and its jobs are stopped. Thread rule: the owner's.
#pragma once
#include "base/moved.h"
#include "serve/daemon/attempts.h"
#include "serve/daemon/dead_memory.h"
#include "serve/daemon/memory_watch.h"

namespace smartmig {

class GpuReports {
 public:
  GpuReports(const Settings& settings, LiveSession& session, JobBook& book, Boards& boards, const AttemptTable& table,
             Attempts& attempts, MemoryWatch& memory, Figures& figures)
      : settings_(settings),
        session_(session),
        book_(book),
        boards_(boards),
        table_(table),
        attempts_(attempts),
        memory_(memory),
        figures_(figures),
        dead_memory_(session) {}

  void take();  // all that has come
  void sample_when_due();
  UnixTime next_sample() const { return next_sample_; }
  void clock_stepped(Time by) { next_sample_ = moved(next_sample_, by); }
  Result<Ok> drain(int gpu, bool on);                                       // out of service, or back to it
  void block_unusable();                                                    // at the start: the belief must know
  void set_trouble(int gpu, GpuTrouble trouble, const std::string& words);  // its jobs are stopped and go elsewhere

 private:
  void operation_ended(const LaneResult& result);
  void sampled(const LaneResult& result);
  void credit(const EnergyInterval& interval);
  void see_memory(int gpu);

  const Settings& settings_;
  LiveSession& session_;
  JobBook& book_;
  Boards& boards_;
  const AttemptTable& table_;
  Attempts& attempts_;
  MemoryWatch& memory_;
  Figures& figures_;
  DeadMemory dead_memory_;
  UnixTime next_sample_{};
};

}  // namespace smartmig
