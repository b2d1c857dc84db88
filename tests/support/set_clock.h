// A clock that stands where a test sets it.
#pragma once
#include "live/live_clock.h"

namespace smartmig {

class SetClock : public LiveClock {
 public:
  explicit SetClock(Time now = Time{0}) : now_(now) {}
  void set(Time now) { now_ = now; }
  Time now() const override { return now_; }
  bool wait_until(Time instant) override {
    now_ = std::max(now_, instant);
    return true;
  }
  void wake() override {}
  void sleep(Time time) override { now_ += time; }
  bool is_virtual() const override { return true; }

 private:
  Time now_;
};

}  // namespace smartmig
