// The GPUs of this machine: what each board last showed, whether it takes work and if not why, its energy meter, and
// the lane that operates on it.
//
// Invariants:
//   - a board in trouble stays so until an operator puts it back (drain off) and its driver says that it is sound;
//   - a board that got in trouble here is in the quarantine file, so that the next daemon knows;
//   - every begin and end of an attempt is told to the meter of its board, or its joules are nobody's.
// Thread rule: the owner's; results of lanes come in by any thread and wait for take_results().
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "live/energy/power_fit.h"
#include "live/gpu/gpu_lanes.h"
#include "model/platform.h"
#include "queue/job_record.h"
#include "serve/gpus/board_state.h"

namespace smartmig {

// Who ran on a board when, for one question: how much of its compute did others use while a job ran? On soft slices
// (MPS) that slows it down. Runs are told in any order; those that nobody can ask about any more are forgotten.
// Thread rule: one thread.
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

using SliceKey = std::pair<std::uint32_t, std::uint32_t>;  // GPU, placement

class Boards {
 public:
  // `sample` is read whenever the meters need it: how often boards are sampled may change.
  Boards(MigDriver& driver, Reshaper& reshaper, LiveClock& clock, std::shared_ptr<const Platform> platform,
         std::vector<BoardState> boards, const Time& sample, PowerFit fit = {});

  std::size_t size() const { return boards_.size(); }
  const std::vector<BoardState>& all() const { return boards_; }
  BoardState& at(int gpu) { return boards_[std::size_t(gpu)]; }
  const BoardState& at(int gpu) const { return boards_[std::size_t(gpu)]; }
  bool known(int gpu) const { return gpu >= 0 && std::size_t(gpu) < boards_.size(); }
  std::vector<Layout> layouts() const;
  int slices_in_service() const;                               // compute slices of boards that take work
  std::string device(int gpu, PlacementId where) const;        // UUID of the slice; "": there is none
  int slice_memory_mib(int gpu, const JobSlice& slice) const;  // -1: there is no such slice
  double weight_of(const JobRecord& job) const;                // in the attribution of its board's energy

  bool isolated() const { return driver_.isolated(); }
  // The driver knows this slice, or cannot say at the moment.
  bool has_device(int gpu, const std::string& device, std::uint32_t uid) const;
  GpuLanes& lanes() { return lanes_; }
  const GpuLanes& looks() const { return looks_; }
  void sample_idle_lanes();
  // Has the processes of this GPU listed, beside its other operations. looked() is true once a list is here that was
  // asked for after this call; look is the number returned.
  std::uint64_t look(int gpu);
  bool looked(int gpu, std::uint64_t look) const { return at(gpu).looked >= look; }
  std::vector<LaneResult> take_results();  // by end, then GPU
  void saw(const LaneResult& result);      // the board as it was read then, and who was on it

  // False: it is in trouble already, and its words stay.
  bool set_trouble(int gpu, GpuTrouble trouble, std::string words);
  // An operator takes the board out of service or puts it back. kBusy: its driver says that it is not sound.
  Result<Ok> drain(int gpu, bool on);
  void lend(int gpu);                            // a drained one, to whoever controls it until it is put back
  void drained_before(const std::string& list);  // "0,3"
  std::string drained_list() const;
  // It fails now, whoever noticed.
  bool failing(int gpu) const;

  void attempt_began(const JobRecord& job);
  // And asks for a sample: its last joules. The share of the board that others used meanwhile (board_load.h).
  double attempt_ended(const JobRecord& job, UnixTime when);
  // `busy_slices`: compute slices that are believed to be busy.
  EnergyInterval measure(const LaneResult& sample, double model_w, int busy_slices);
  EnergyTotals energy(int gpu) const;
  void clock_stepped(Time by);
  const PowerFit& power_fit() const { return fit_; }
  EnergyMeter& meter() { return meter_; }
  const EnergyMeter& meter() const { return meter_; }

 private:
  void came(LaneResult result);  // on any thread
  BoardMeter& meter_of(int gpu);
  void fit_watts(int gpu, const EnergyInterval& interval, UnixTime from, UnixTime to, int busy_slices);

  MigDriver& driver_;
  Reshaper& reshaper_;
  LiveClock& clock_;
  std::shared_ptr<const Platform> platform_;
  std::vector<BoardState> boards_;
  std::vector<BoardLoad> loads_;  // of each board
  const Time& sample_;
  EnergyMeter meter_;
  PowerFit fit_;
  std::vector<bool> steady_;  // by board: the same slices have been busy since its last sample
  UnixTime fit_saved_ = kNotYet;
  std::mutex mutex_;
  std::vector<LaneResult> results_;  // guarded
  GpuLanes lanes_, looks_;           // last: their threads end before what they write to
};

}  // namespace smartmig
