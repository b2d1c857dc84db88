// Waiting on a machine's clock. Real and zero clocks follow the host. The virtual clock moves only when every thread on
// it waits, and then jumps to the earliest wake-up; those whose time has come are set running in the same step, so the
// clock cannot pass a thread that has not yet noticed. A thread that sleeps without having joined is on the clock for
// that sleep. A thread that joined to run last is set running only when all others wait, so that it finds everything
// that happened at its instant done. A joined process that dies while it runs holds the clock until that is seen, after
// at most 80 ms of host time. A thread that asks to be woken by its children looks for the dead before each sleep: it
// may have killed them. Units: microseconds. Thread rule: all methods are thread-safe; join, leave, block concern the
// calling thread.
#pragma once
#include <functional>

#include "store.h"

namespace smartmig::nvsim {

class Clock {
 public:
  // `forget_dead` takes dead processes off the machine; called before the clock moves without them.
  Clock(Store& store, std::function<void()> forget_dead) : store_(store), forget_dead_(std::move(forget_dead)) {}

  std::uint64_t now() const { return store_.now(); }
  bool is_virtual() const { return store_.clock_mode() == 2; }
  bool sleep(std::uint64_t us) { return sleep_until(us > kUntilWoken - now() ? kUntilWoken : now() + us); }
  bool sleep_until(std::uint64_t time) { return sleep_until(time, false); }  // false: woken before
  void sleep_through(std::uint64_t us) { sleep_until(now() + us, true); }    // not to be woken; the next sleep is

  bool join(std::uint32_t flags);  // false: no slot is free
  void leave();
  void block();              // does nothing for a thread that has not joined
  void unblock(int thread);  // of this process
  bool expect(int pid);
  void wake(int pid, int thread);  // thread 0: every sleeping one of that process
  static void interrupt();         // async-signal-safe: the present or next sleep of this process ends early

 private:
  Slot* find(int pid, int thread);
  Slot* take(int pid, int thread, std::uint32_t flags);
  void free_slot(Slot& slot);
  void set_running(Slot& slot);
  void advance();
  void drop_dead();
  void drop_dead_sometimes();
  bool sleep_until(std::uint64_t time, bool deaf);  // REQUIRES: not holding the store
  bool sleep_real(std::uint64_t time, bool deaf);
  Store& store_;
  std::function<void()> forget_dead_;
};

}  // namespace smartmig::nvsim
