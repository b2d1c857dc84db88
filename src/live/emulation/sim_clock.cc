#include "live/emulation/sim_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/errors.h"

namespace smartmig {

Result<std::shared_ptr<SimClock>> SimClock::open(std::shared_ptr<SimLibrary> library) {
  SMARTMIG_RETURN_IF_ERROR(library->attach());
  unsigned int mode = 0;
  library->nvmlSimClockMode(&mode);
  if (mode != NVML_SIM_CLOCK_VIRTUAL)
    return unsupported("{}: the machine's clock is not a virtual one", library->nvmlSimStateDirectory());
  std::shared_ptr<SimClock> clock(new SimClock(std::move(library)));
  if (const auto code = clock->library_->nvmlSimClockJoin(NVML_SIM_RUN_LAST | NVML_SIM_WAKE_ON_CHILD);
      code != NVML_SUCCESS)
    return clock->library_->error(code, "joining the virtual clock");
  return clock;
}

SimClock::~SimClock() {
  if (this_worker() == owner_) library_->nvmlSimClockLeave();
}

UnixTime SimClock::now() const {
  unsigned long long us = 0;
  library_->nvmlSimNow(&us);
  return from_unix_us(std::int64_t(us));
}

bool SimClock::wait_until(UnixTime instant) {
  SMARTMIG_CHECK(this_worker() == owner_, "another thread than the owner waits on the clock");
  const Time left = instant == kNeverUnix ? kNever : std::max(Time{0}, instant - now());
  set_owner_waits(true);
  const auto code =
      library_->nvmlSimSleep(left == kNever ? NVML_SIM_UNTIL_WOKEN : static_cast<unsigned long long>(left.count()));
  set_owner_waits(false);
  return code == NVML_SUCCESS || now() >= instant;
}

void SimClock::wake() { library_->nvmlSimWakeThread(unsigned(owner_)); }

void SimClock::sleep(Time time) {
  for (const UnixTime until = now() + time; now() < until;)
    library_->nvmlSimSleep(static_cast<unsigned long long>((until - now()).count()));
}

LiveClock::Worker SimClock::this_worker() const {
  static thread_local Worker mine = Worker(::syscall(SYS_gettid));
  return mine;
}

void SimClock::worker_joins() {
  const auto code = library_->nvmlSimClockJoin(0);
  SMARTMIG_CHECK(code == NVML_SUCCESS, "too many threads on the virtual clock");
}
void SimClock::worker_leaves() { library_->nvmlSimClockLeave(); }

void SimClock::worker_begins() {
  std::unique_lock lock(turn_mutex_);
  turn_.wait(lock, [&] { return owner_waits_; });
}

void SimClock::worker_idle() {
  if (this_worker() == owner_) set_owner_waits(true);
  library_->nvmlSimClockBlock();
}

void SimClock::worker_busy(Worker worker) {
  if (worker == owner_) set_owner_waits(false);
  library_->nvmlSimClockUnblockThread(unsigned(worker));
}

void SimClock::set_owner_waits(bool waits) {
  {
    const std::lock_guard lock(turn_mutex_);
    owner_waits_ = waits;
  }
  turn_.notify_all();
}

}  // namespace smartmig
