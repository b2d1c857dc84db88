// The GPUs and jobs of this machine as a Fleet: its events come from processes and devices, its actions become effects
// that the daemon carries out once they are stored. It has neither clock nor I/O, so tests need none.
//
// The order of a simulated run under hardware costs is kept where reality leaves a choice:
//   - what was withdrawn comes first, then what ended, then operations begin where slices are idle, then what they
//     brought, then arrivals;
//   - operations begin as in the simulated fleet (sched/reshape_queue.h); a destroy is told of when it begins, a create
//     when it is done.
// A failed operation gives the GPU a pause that doubles (5 s to 5 min) before the next try.
// Thread rule: the session's owner alone.
#pragma once
#include <deque>
#include <variant>
#include <vector>

#include "sched/fleet.h"
#include "sched/reshape_queue.h"

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

  // Something happened: an arrival, an end, a withdrawal, an overrun, a GPU blocked or free again, a slice that appeared.
  void tell(const Event& event);
  void forget(JobId job);      // nothing that was told of it happens any more
  void look_again(GpuId gpu);  // its layout is another than was believed: it may be on its way to its target again
  void destroyed(GpuId gpu);   // the operation under way on this GPU has succeeded,
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
  bool also_happens(const Cluster& cluster, Event& event) override;
  void begin(const Cluster& cluster, const Event& action, std::vector<Event>& at_once) override;
  std::vector<Effect> take_effects() { return std::exchange(effects_, {}); }
  bool operating(GpuId gpu) const { return reshapes_.operating(gpu); }

 private:
  bool has_earlier() const { return !withdrawn_.empty() || !ended_.empty() || !changed_.empty(); }
  struct Retry {
    Time at{}, pause{};
  };
  struct DestroyEnded {  // told of when it began: now the GPU may begin its next operation
    GpuId gpu;
  };
  void operation_succeeded(GpuId gpu);
  bool begin_operations(const Cluster& cluster, Event& event);

  ReshapeQueue reshapes_;
  std::vector<Retry> retries_;  // by GPU
  std::deque<Event> withdrawn_, ended_, arrived_;
  std::deque<std::variant<Event, DestroyEnded>> changed_;  // in order: what one leads to comes before the next
  std::vector<Effect> effects_;
  Time now_{};
};

}  // namespace smartmig
