// The world as a Fleet that is really out there: its events come from processes and devices, its actions become effects
// that somebody else carries out once they are on record. Neither clock nor I/O here, so that it is tested without any.
//
// The rules are SimFleet's under hardware costs, and the order of a simulated run is kept where reality leaves a
// choice:
//   - what was withdrawn comes first, then what ended, then operations begin where slices are idle, then what they
//   brought, then arrivals;
//   - operations on one GPU are sequential: a slice that goes is destroyed once idle, wanted ones are created where
//   they
//     fit, lowest placement first; a destroy is told of when it begins, a create when it is done;
//   - GPUs begin their operations in the order in which their reshapes were asked for.
// A failed operation gives the GPU a pause that doubles (5 s to 5 min) before the next try.
// Thread rule: the session's owner alone.
#pragma once
#include <deque>
#include <vector>

#include "sched/fleet.h"

namespace smartmig {

class LiveFleet : public Fleet {
 public:
  struct Effect {
    enum What : std::uint8_t { kStart, kStop, kCreate, kDestroy } what = kStart;
    JobId job = kNoJob;
    GpuId gpu = kNoGpu;
    PlacementId where = kNoPlacement;
  };

  explicit LiveFleet(const Cluster& cluster);  // picks up reshapes that are under way

  void tell(const Event& event);                  // something happened; events of one call order stay in order
  void destroyed(GpuId gpu);                      // the operation under way on this GPU has succeeded,
  void created(GpuId gpu, Time at, Layout what);  // and brought this
  Time operation_failed(GpuId gpu, Time now);     // when it will be tried again
  bool has_news() const { return !withdrawn_.empty() || !ended_.empty() || !changed_.empty() || !arrived_.empty(); }
  // No decision before these are told: a policy must not start a job that has left.
  bool withdrawals() const { return !withdrawn_.empty(); }
  // The next event is an arrival: a decision before it is not needed.
  bool arrival_next() const { return !has_earlier() && !arrived_.empty(); }
  Time next_retry() const;                  // kNever: none is due
  void set_clock(Time now) { now_ = now; }  // what "idle for long enough to try again" is measured by

  bool next(const Cluster& cluster, Event& event) override;  // false: nothing to tell for now
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;
  std::vector<Effect> take_effects() { return std::exchange(effects_, {}); }
  bool operating(GpuId gpu) const { return lanes_[index(gpu)].busy; }

 private:
  bool has_earlier() const { return !withdrawn_.empty() || !ended_.empty() || !changed_.empty(); }
  struct Lane {
    bool busy = false, listed = false;
    Time retry{}, pause{};
  };
  void free_lane(GpuId gpu);
  bool begin_operations(const Cluster& cluster, Event& event);
  bool begin_operation(const Cluster& cluster, GpuId gpu, Event& event);

  std::vector<Lane> lanes_;
  std::vector<GpuId> reshaping_;  // in order of asking
  std::deque<Event> withdrawn_, ended_, changed_, arrived_;
  std::vector<Effect> effects_;
  Time now_{};
};

}  // namespace smartmig
