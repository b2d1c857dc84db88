// The agent's work for the controller on its node: reports the GPUs, creates and removes slices, records which job has
// which slice, and measures the joules of each job. Requests and replies are JSON objects (docs/slurm.md). The caller
// is authenticated by seal.h and authorised here: root and the given users, for this node, unless another controller
// has replaced the caller (an epoch below the highest seen).
//
// Invariants: a slice that a job holds is never removed, and a slice that is being removed is never given. A slice is
// freed only when Epilog has marked it or no process of its job exists, whoever asks. A slice is given only when the
// driver lists no process on it. Reshaper journals reshapes; the holder of a slice is on disk before the reply
// (slice_book.h). handle() from any thread. A GPU has one operation at a time, and others are refused as busy, so a
// device that hangs does not accumulate threads; status() reports since when. Operations on other GPUs do not wait.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cluster/device_fence.h"
#include "cluster/slice_book.h"
#include "live/energy/energy_meter.h"
#include "live/gpu/reshaper.h"
#include "live/live_clock.h"

namespace smartmig {

class NodeAgent {
 public:
  struct Options {
    std::string node, state_dir;
    std::vector<std::uint32_t> users;  // besides root, who may ask
    Environment environment;           // added to every job's: what an emulated machine needs
    std::optional<DeviceFence> fence;  // keeps jobs from others' device files; none: nobody does
    // What of a job lives on this node, in words (living_job.h); none: nobody looks.
    std::function<std::string(std::uint32_t job)> lives = {};
    // Jobs that Epilog has marked since: called from tell_ended(), outside of all locks.
    std::function<void(const std::string& controller, const std::vector<std::uint32_t>& jobs)> tell = {};
  };
  static Result<std::unique_ptr<NodeAgent>> open(MigDriver& driver, Reshaper& reshaper, LiveClock& clock,
                                                 Options options);

  std::string handle(const std::string& request, std::uint32_t uid);
  void sample();  // joules up to now; ten times a minute or more
  // Closes the cgroups of jobs that have come to others' devices; ten times a second. What went wrong, once for each job.
  std::vector<std::string> fence();
  void tell_ended();               // Epilog may have marked jobs: tells the controller that asked for it
  Time since_leader();             // how long no controller has spoken; since the start where none ever has
  std::vector<GpuBoard> boards();  // as last read
  const std::string& node() const { return options_.node; }
  // For the agent itself while no controller speaks (fallback.h); as the requests, without an epoch.
  Result<Ok> reserve(std::uint32_t job, std::uint32_t uid, int gpu, PlacementId where);
  Result<Ok> change(int gpu, Operation operation);
  // Its joules, also where it was freed a moment ago and the answer got lost; none for a job that had no slice here.
  // kBusy: it is not over.
  Result<std::optional<double>> free(std::uint32_t job);
  std::map<std::uint32_t, SliceHolder> jobs();

 private:
  struct Gpu {
    std::shared_ptr<const GpuModel> model;  // null where the catalogue has none; never changes
    GpuBoard board;                         // as last read
    double idle_w = 0;
    std::optional<double> watts;  // when last sampled
    std::mutex operating;
    std::optional<UnixTime> changing;  // since when an operation is under way
    std::set<std::string> going;       // slices that are being removed
    std::set<PlacementId> used;        // that were asked for and had a process: told until they have none
  };
  NodeAgent(MigDriver& driver, Reshaper& reshaper, LiveClock& clock, Options options, SliceBook book)
      : driver_(driver), reshaper_(reshaper), clock_(clock), options_(std::move(options)), book_(std::move(book)) {}
  Result<Json> answer(const JsonObject& request);
  Result<Ok> is_over(std::uint32_t job);                    // kBusy: Epilog has not marked it, and it lives
  Result<Ok> is_unused(Gpu& gpu, GpuId id, PlacementId p);  // kBusy: a process is on that slice
  Result<Json> status();
  void look_at_used();
  Result<Ok> lead(const JsonObject& request);
  Result<Gpu*> gpu_of(int gpu);
  Result<PlacementId> slice_of(const Gpu& gpu, const std::string& text) const;
  void saw(Gpu& gpu, GpuBoard board);
  void mark_ended();  // of jobs that Epilog has marked
  void store_energy();
  Result<Ok> restore_energy();

  MigDriver& driver_;
  Reshaper& reshaper_;
  LiveClock& clock_;
  Options options_;
  std::mutex mutex_;  // of all below, but what `operating` guards
  SliceBook book_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  EnergyMeter meter_;
  std::map<std::uint32_t, double> joules_;
  std::deque<std::pair<std::uint32_t, double>> freed_;  // the latest, with their joules
  std::map<std::uint32_t, UnixTime> fenced_;            // jobs that are fenced in, and when to repeat it
  std::set<std::uint32_t> unfenced_;                    // jobs that cannot be fenced in
  std::set<std::uint32_t> metered_;                     // jobs that the meters know as running
  std::uint64_t epoch_ = 0;
  std::string leader_, news_to_;  // news_to_: where the leader wants to be told of ends; empty: it asks
  std::set<std::uint32_t> told_;  // jobs whose end it was told of
  UnixTime heard_{};
};

}  // namespace smartmig
