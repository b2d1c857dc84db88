// The virtual clock of an emulated machine as a LiveClock: it stands still while the owner or a busy worker runs and
// jumps to the next wake-up when all wait. The owner runs last: when wait_until returns, every worker (and every
// emulated process) has done what it had to do at that instant; and workers begin what the owner gave them only once it
// waits. So the owner and the workers never run at the same time, and a run repeats whatever the host's scheduling was.
// Child processes on the clock that end wake the owner. Made by the owner's thread, which is on the clock from then on.
#pragma once
#include <memory>

#include "live/emulation/sim_library.h"
#include "live/live_clock.h"

namespace smartmig {

class SimClock : public LiveClock {
 public:
  // Attaches the library to its machine. kUnsupported: that machine's clock is not virtual.
  static Result<std::shared_ptr<SimClock>> open(std::shared_ptr<SimLibrary> library);
  ~SimClock() override;  // on the owner's thread

  UnixTime now() const override;
  bool wait_until(UnixTime instant) override;
  void wake() override;
  void sleep(Time time) override;
  bool is_virtual() const override { return true; }
  Worker this_worker() const override;
  void worker_joins() override;
  void worker_leaves() override;
  void worker_begins() override;
  void worker_idle() override;
  void worker_busy(Worker worker) override;

 private:
  explicit SimClock(std::shared_ptr<SimLibrary> library) : library_(std::move(library)), owner_(this_worker()) {}
  void set_owner_waits(bool waits);

  std::shared_ptr<SimLibrary> library_;
  Worker owner_;
  std::mutex turn_mutex_;
  std::condition_variable turn_;
  bool owner_waits_ = false;  // the workers' turn
};

}  // namespace smartmig
