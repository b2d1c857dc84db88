#include "live/live_clock.h"

#include <time.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "live/jobs/attempt_record.h"

namespace smartmig {
namespace {

constexpr Time kLongestWait{1'000'000};  // then it is seen whether the time of day was set
constexpr Time kReadTogether{50'000};    // two clocks read farther apart say nothing of each other

Time read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return Time(std::int64_t(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000);
}

}  // namespace

RealClock::RealClock(Steps steps)
    : RealClock([] { return UnixTime(read_clock(CLOCK_REALTIME)); }, [] { return read_clock(CLOCK_BOOTTIME); }, steps) {
}

RealClock::RealClock(std::function<UnixTime()> time_of_day, std::function<Time()> steady, Steps steps)
    : steps_(steps),
      time_of_day_(std::move(time_of_day)),
      steady_(std::move(steady)),
      now_(time_of_day_()),
      steady_then_(steady_()) {}

Time RealClock::look() const {
  UnixTime day;
  Time steady;
  do {  // again where this thread was halted between the two
    steady = steady_();
    day = time_of_day_();
  } while (steady_() - steady > kReadTogether);
  const Time passed = std::max(Time{0}, steady - steady_then_);
  const Time behind = day - (now_ + passed);
  const bool taken = steps_ == Steps::kTaken, step = taken && (behind > kSlewed || behind < -kSlewed);
  const Time most = step ? Time{0} : passed / (taken ? 100 : 10), moved = std::clamp(behind, -most, most);
  now_ += passed + moved;
  steady_then_ += passed;
  return behind - moved;
}

UnixTime RealClock::now() const {
  const std::lock_guard lock(mutex_);
  look();
  return now_;
}

bool RealClock::stepped() const {
  if (steps_ != Steps::kTaken) return false;
  const std::lock_guard lock(mutex_);
  const Time behind = look();
  return behind > kSlewed || behind < -kSlewed;
}

Time RealClock::take_step() {
  if (steps_ != Steps::kTaken) return Time{0};
  const std::lock_guard lock(mutex_);
  const Time behind = look();
  if (behind <= kSlewed && behind >= -kSlewed) return Time{0};
  now_ += behind;
  return behind;
}

std::string RealClock::boot() const { return this_boot(); }

bool RealClock::wait_until(UnixTime instant) {
  std::unique_lock lock(wake_mutex_);
  for (;;) {
    if (std::exchange(woken_, false)) return now() >= instant;
    const Time left = instant == kNeverUnix ? kLongestWait : instant - now();
    if (left <= Time{0}) return true;
    if (stepped()) return false;
    wake_up_.wait_for(lock, std::min(left, kLongestWait), [&] { return woken_; });
  }
}

void RealClock::wake() {
  {
    const std::lock_guard lock(wake_mutex_);
    woken_ = true;
  }
  wake_up_.notify_all();
}

void RealClock::sleep(Time time) { std::this_thread::sleep_for(time); }

}  // namespace smartmig
