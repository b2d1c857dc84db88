// GPU operations on threads of their own: a lane (thread) for each GPU carries out one operation after another, so that
// operations of different GPUs overlap as in the simulator. A create or destroy goes through the Reshaper as a plan of
// one step (durable intent, read-back, roll back, quarantine); a sample reads everything that changes on its own; a
// look only lists the processes. Results come through `done`, called on the lane's thread; then the clock's owner is
// woken. Invariants: within a lane results come in the order of asking; every request gets exactly one result, unless
// the lanes end before it was begun. On the virtual clock an operation takes its time in data/reconfig.csv to the
// microsecond, nothing is begun before the owner waits (so a sample shows all that the owner's step did to the board),
// and results of one instant are all there when that wait ends; `<` puts them in the simulator's order. Thread rule:
// requests from one thread, the clock's owner.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "live/gpu/reshaper.h"
#include "live/live_clock.h"

namespace smartmig {

// What a board reports. Absent: it could not be read, `trouble` says why.
struct GpuSample {
  std::optional<double> joules, watts;
  std::vector<DeviceProcess> processes;
  std::optional<Error> unlisted;  // why the processes could not be listed
  UnixTime listed{};              // when the list was asked for, as LaneResult::began
  std::string trouble;            // lost, hanging, an Xid, a memory error: in words; empty: sound
  Error::Code code = Error::kIo;  // of the trouble; kLost: the board itself is bad
};

struct LaneResult {
  enum What : std::uint8_t { kCreate, kDestroy, kSample, kLook } what = kSample;
  GpuId gpu = kNoGpu;
  PlacementId where = kNoPlacement;
  bool ok = false;                // the device shows what was asked for; a sample, a look: nothing is wrong
  bool changed = false;           // the driver was asked to change something, successfully or not
  bool quarantined = false;       // the GPU, or slices of it, are now in quarantine
  std::string note;               // what the operator should know although it is ok; empty: nothing
  std::string words;              // why not ok, and where things stand
  Error::Code code = Error::kIo;  // of words
  std::optional<GpuBoard> board;  // as last read, with its instances; absent: it could not be read
  GpuSample sample;               // of kSample; of kLook its processes
  UnixTime began{}, ended{};      // from a lane: UnixTime(LiveClock::steady())

  // By end, then by GPU: the order in which the simulator tells of operations that end together.
  bool operator<(const LaneResult& other) const {
    return ended != other.ended ? ended < other.ended : index(gpu) < index(other.gpu);
  }
};

class GpuLanes {
 public:
  GpuLanes(MigDriver& driver, Reshaper& reshaper, LiveClock& clock, std::function<void(LaneResult)> done);
  ~GpuLanes();  // waits for what is under way; what was not begun is dropped
  GpuLanes(const GpuLanes&) = delete;
  GpuLanes& operator=(const GpuLanes&) = delete;

  void create(GpuId gpu, PlacementId where) { ask(gpu, {LaneResult::kCreate, where}); }
  void destroy(GpuId gpu, PlacementId where) { ask(gpu, {LaneResult::kDestroy, where}); }
  void sample(GpuId gpu) { ask(gpu, {LaneResult::kSample, kNoPlacement}); }
  void look(GpuId gpu) { ask(gpu, {LaneResult::kLook, kNoPlacement}); }
  // Called on the lane's thread when a slice was created, before its result is told; what it returns becomes
  // LaneResult::note. Set before the first request.
  void after_create(std::function<std::string(GpuId)> call) { after_create_ = std::move(call); }
  // Asked for and without a result yet.
  std::size_t pending(GpuId gpu) const;
  // At once, on the caller's thread; does not wait for the lane.
  Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) {
    return driver_.environment(gpu, instance, uid);
  }
  std::vector<std::string> device_nodes(GpuId gpu, const Instance& instance) {
    return driver_.device_nodes(gpu, instance);
  }

 private:
  struct Request {
    LaneResult::What what;
    PlacementId where;
  };
  struct Lane;
  void ask(GpuId gpu, Request request);
  void refuse(GpuId gpu, Request request, const Error& error);  // there is no lane for it
  void run(Lane& lane);
  LaneResult carry_out(GpuId gpu, const Request& request);
  void reshape(const Request& request, LaneResult& result);
  void take_sample(LaneResult& result);
  void list_processes(LaneResult& result);

  MigDriver& driver_;
  Reshaper& reshaper_;
  LiveClock& clock_;
  std::function<void(LaneResult)> done_;
  std::function<std::string(GpuId)> after_create_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by GPU; null: never used
};

}  // namespace smartmig
