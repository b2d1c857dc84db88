#include "live/live_clock.h"

#include <time.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace smartmig {
namespace {

constexpr Time kLongestWait{60'000'000};  // then the slope is looked at again

Time read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return Time(std::int64_t(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000);
}

}  // namespace

RealClock::RealClock()
    : RealClock([] { return UnixTime(read_clock(CLOCK_REALTIME)); }, [] { return read_clock(CLOCK_MONOTONIC); }) {}

RealClock::RealClock(std::function<UnixTime()> time_of_day, std::function<Time()> steady)
    : time_of_day_(std::move(time_of_day)), steady_(std::move(steady)), now_(time_of_day_()), steady_then_(steady_()) {}

UnixTime RealClock::now() const {
  const std::lock_guard lock(mutex_);
  const Time steady = steady_(), passed = std::max(Time{0}, steady - steady_then_), most = passed / 10;
  const Time behind = time_of_day_() - (now_ + passed);
  now_ += passed + std::clamp(behind, -most, most);
  steady_then_ += passed;
  return now_;
}

bool RealClock::wait_until(UnixTime instant) {
  std::unique_lock lock(wake_mutex_);
  for (;;) {
    if (std::exchange(woken_, false)) return now() >= instant;
    const Time left = instant == kNeverUnix ? kLongestWait : instant - now();
    if (left <= Time{0}) return true;
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
