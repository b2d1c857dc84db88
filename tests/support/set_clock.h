// A clock that stands where a test sets it.
#pragma once
#include "live/live_clock.h"

namespace smartmig {

class SetClock : public LiveClock {
 public:
  explicit SetClock(UnixTime now = UnixTime{}) : now_(now) {}
  void set(UnixTime now) { now_ = now; }
  UnixTime now() const override { return now_; }
  bool wait_until(UnixTime instant) override {
    now_ = std::max(now_, instant);
    return true;
  }
  void wake() override {}
  void sleep(Time time) override { now_ += time; }
  bool is_virtual() const override { return true; }

 private:
  UnixTime now_;
};

}  // namespace smartmig
