// Another clock, and somebody who sets the time of day: step() now, which the owner takes with its next step.
#pragma once
#include <atomic>
#include <memory>

#include "live/live_clock.h"

namespace smartmig {

class SteppedClock : public LiveClock {
 public:
  explicit SteppedClock(std::shared_ptr<LiveClock> inner, Time shift = Time{0})
      : inner_(std::move(inner)), shift_(shift) {}
  void step(Time by) { pending_ = pending_.load() + by; }

  UnixTime now() const override { return inner_->now() + shift_.load(); }
  Time steady() const override { return inner_->steady(); }
  Time take_step() override {
    const Time by = pending_.exchange(Time{0});
    shift_ = shift_.load() + by;
    return by;
  }
  std::string boot() const override { return boot_id; }
  bool wait_until(UnixTime instant) override {
    return inner_->wait_until(instant == kNeverUnix ? instant : instant - shift_.load());
  }
  void wake() override { inner_->wake(); }
  void sleep(Time time) override { inner_->sleep(time); }
  bool is_virtual() const override { return inner_->is_virtual(); }
  Worker this_worker() const override { return inner_->this_worker(); }
  void worker_joins() override { inner_->worker_joins(); }
  void worker_leaves() override { inner_->worker_leaves(); }
  void worker_begins() override { inner_->worker_begins(); }
  void worker_idle() override { inner_->worker_idle(); }
  void worker_busy(Worker worker) override { inner_->worker_busy(worker); }

  std::string boot_id = "this-boot";

 private:
  std::shared_ptr<LiveClock> inner_;
  std::atomic<Time> shift_, pending_{Time{0}};
};

}  // namespace smartmig
