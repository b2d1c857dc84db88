// The daemon's clock, and how its threads wait. One thread, the owner, decides and waits with wait_until; others wake
// it. Worker threads (a lane for each GPU) report when they have nothing to do. On the host's clock this has no effect;
// on a virtual clock, time may only jump when the owner and every busy worker wait. Two rules make that safe:
//   - whoever gives a worker something to do marks it busy, under the lock of the worker's queue, so the clock cannot
//     jump before the worker has noticed;
//   - a worker wakes the owner before it goes idle.
// A third makes runs on a virtual clock repeat: a worker calls worker_begins before each thing it does, and there waits
// until the owner waits. It then finds the machine as the owner's step left it, never in the middle of that step. An
// instant is a UnixTime: of RealClock since 1970, of SimClock since its machine was made.
//
// Someone may set the host's time of day. With RealClock::Steps::kTaken, now() does not follow a step until the owner
// calls take_step(), which moves now() and returns by how much. The owner then moves every past instant and timer that
// it holds by the same amount (serve/attempts/clock_steps.h), so that durations stay right. Thread rule: wait_until
// from the owner's thread alone; all else from any thread.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "base/units.h"

namespace smartmig {

class LiveClock {
 public:
  virtual ~LiveClock() = default;
  virtual UnixTime now() const = 0;                           // runs backwards in take_step() alone
  virtual Time steady() const { return now() - UnixTime{}; }  // since the host's start; cannot be set
  // By how much the time of day was set since the last call; now() has it from here on. 0: it was not.
  virtual Time take_step() { return Time{0}; }
  virtual std::string boot() const { return {}; }  // of which steady() is; empty: steady() means nothing later
  // True: that instant has come. False: woken before. kNeverUnix waits until woken. A wake that comes while nobody waits
  // ends the next wait at once.
  virtual bool wait_until(UnixTime instant) = 0;
  virtual void wake() = 0;
  virtual void sleep(Time time) = 0;  // of the calling thread; nothing ends it early
  virtual bool is_virtual() const { return false; }

  using Worker = int;  // a thread
  virtual Worker this_worker() const { return 0; }
  virtual void worker_joins() {}       // the calling thread, now busy
  virtual void worker_leaves() {}      // the calling thread
  virtual void worker_begins() {}      // the calling thread takes up the next thing it was given
  virtual void worker_idle() {}        // the calling thread waits for something that is not the clock
  virtual void worker_busy(Worker) {}  // it has something to do again; no effect on one that is not idle
};

// The host's time of day, carried on by CLOCK_BOOTTIME. Where it differs from CLOCK_REALTIME:
//   kFollowed   it runs up to 10 % faster or slower until they agree;
//   kTaken      a difference of at most kSlewed is followed at 1 %; a larger one waits for take_step(), and ends waits.
class RealClock : public LiveClock {
 public:
  enum class Steps { kFollowed, kTaken };
  static constexpr Time kSlewed{2'000'000};
  explicit RealClock(Steps steps = Steps::kFollowed);
  RealClock(std::function<UnixTime()> time_of_day, std::function<Time()> steady,
            Steps steps = Steps::kFollowed);  // for tests

  UnixTime now() const override;
  Time steady() const override { return steady_(); }
  Time take_step() override;
  std::string boot() const override;
  bool wait_until(UnixTime instant) override;
  void wake() override;
  void sleep(Time time) override;

 private:
  Time look() const;  // moves now_ on; what is left of the difference. REQUIRES: the lock
  bool stepped() const;

  const Steps steps_;
  std::function<UnixTime()> time_of_day_;
  std::function<Time()> steady_;
  mutable std::mutex mutex_;
  mutable UnixTime now_{};
  mutable Time steady_then_{};
  std::mutex wake_mutex_;
  std::condition_variable wake_up_;
  bool woken_ = false;
};

}  // namespace smartmig
