#include "clock.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <span>

#include "sim_api.h"

namespace smartmig::nvsim {
namespace {

constexpr std::uint64_t kPatience = 10000, kMostPatience = 80000;  // us of host time before the dead are looked for
std::atomic<bool> interrupted{false};

bool take_interrupt() { return interrupted.load(std::memory_order_relaxed) && interrupted.exchange(false); }

}  // namespace

void Clock::interrupt() { interrupted.store(true); }

Slot* Clock::find(int pid, int thread) {
  for (Slot& slot : store_.header().slots)
    if (slot.pid == pid && slot.thread == thread) return &slot;
  return nullptr;
}

Slot* Clock::take(int pid, int thread, std::uint32_t flags) {
  const Owner owner = pid == ::getpid() ? self() : owner_of(pid);
  if (owner.pid == 0) return nullptr;
  for (Slot& slot : store_.header().slots) {
    if (slot.pid != 0) continue;
    slot = {0,         thread, pid == ::getpid() ? int(::getppid()) : parent_of(pid), flags, owner.started, 0, 0, 0,
            slot.bell, 0};
    slot.pid = pid;
    return &slot;
  }
  return nullptr;
}

void Clock::free_slot(Slot& slot) {
  const int parent = slot.parent;
  slot.pid = 0;
  for (Slot& other : store_.header().slots)
    if (other.pid == parent && parent > 0 && (other.flags & NVML_SIM_WAKE_ON_CHILD)) other.woken = 1;
}

void Clock::set_running(Slot& slot) {
  if (slot.wake == 0) return;
  slot.wake = 0;
  ++slot.bell;
  futex_wake(&slot.bell);
}

// REQUIRES: the store's lock. Idempotent, so that a death between any two stores is made good by the next caller.
void Clock::advance() {
  Header& header = store_.header();
  for (;;) {
    const std::uint64_t present = header.virtual_now.load(std::memory_order_relaxed);
    std::uint64_t earliest = kUntilWoken;
    bool runs = false, last = false;
    const auto due = [&](const Slot& slot) {
      return slot.pid != 0 && slot.wake != 0 && slot.wake != kForever &&
             (slot.wake <= present || (slot.woken && !slot.deaf));
    };
    for (Slot& slot : header.slots) {
      if (slot.pid == 0) continue;
      if (due(slot) && (slot.flags & NVML_SIM_RUN_LAST))
        last = true;
      else if (due(slot))
        set_running(slot);
      runs |= slot.wake == 0;
      earliest = std::min(earliest, slot.wake);
    }
    if (runs) return;
    if (last) {
      for (Slot& slot : header.slots)
        if (due(slot)) set_running(slot);
      return;
    }
    if (earliest == kUntilWoken) return;
    header.virtual_now.store(earliest, std::memory_order_release);
    crash_point();
  }
}

void Clock::drop_dead() {
  Slot* slots = store_.header().slots;
  Slot copy[kMaxSlots];
  {
    const Store::Lock lock(store_);
    std::copy_n(slots, kMaxSlots, copy);
  }
  bool dropped = false;
  for (int i = 0; i < kMaxSlots; ++i) {
    Owner owner;
    owner.pid = copy[i].pid;
    owner.started = copy[i].started;
    if (owner.pid == 0 || owner == self() || alive(owner)) continue;
    if (!dropped) forget_dead_();
    const Store::Lock lock(store_);
    if (slots[i].pid != owner.pid || slots[i].started != owner.started) continue;
    free_slot(slots[i]);
    dropped = true;
  }
  if (!dropped) return;
  const Store::Lock lock(store_);
  advance();
}

// Many sleepers, one search at a time.
void Clock::drop_dead_sometimes() {
  std::atomic<std::uint64_t>& last = store_.header().looked_for_dead_us;
  const std::uint64_t present = host_now_us();
  std::uint64_t seen = last.load();
  if (present - seen >= kPatience && last.compare_exchange_strong(seen, present)) drop_dead();
}

bool Clock::sleep_real(std::uint64_t time, bool deaf) {
  for (;;) {
    if (!deaf && take_interrupt()) return false;
    const std::uint64_t present = now();
    if (present >= time) return true;
    const std::uint64_t step = std::min<std::uint64_t>(time - present, 20000);
    const timespec span{0, long(step * 1000)};
    ::nanosleep(&span, nullptr);
  }
}

bool Clock::sleep_until(std::uint64_t time, bool deaf) {
  if (!is_virtual()) return sleep_real(time, deaf);
  if (!deaf && take_interrupt()) return false;
  const int pid = ::getpid(), thread = thread_id();
  Slot* slot = nullptr;
  bool temporary = false, supervises = false, last = false;
  {
    const Store::Lock lock(store_);
    slot = find(pid, thread);
    supervises = slot && (slot->flags & NVML_SIM_WAKE_ON_CHILD);
    last = slot && (slot->flags & NVML_SIM_RUN_LAST);
  }
  if (time <= now() && !last) return true;
  if (supervises) drop_dead();
  {
    const Store::Lock lock(store_);
    slot = find(pid, thread);
    temporary = slot == nullptr;
    if (temporary) slot = take(pid, thread, 0);
    SMARTMIG_CHECK(slot != nullptr, "more than {} threads wait on the virtual clock", kMaxSlots);
    if (time <= now()) slot->woken = 1;  // its time has come; it waits for the others only
    slot->deaf = deaf;
    slot->wake = std::max<std::uint64_t>(time, 1);
    advance();
  }
  for (std::uint64_t patience = kPatience;;) {
    std::uint32_t bell = 0;
    {
      const Store::Lock lock(store_);
      const bool interrupt = !deaf && take_interrupt();
      if (slot->wake == 0 || interrupt) {
        const bool early = interrupt || (!deaf && slot->woken != 0);
        if (!deaf) slot->woken = 0;
        slot->deaf = 0;
        slot->wake = 0;
        if (temporary) {
          slot->pid = 0;
          advance();
        }
        return !early || now() >= time;
      }
      bell = slot->bell;
    }
    const std::uint64_t before = host_now_us();
    futex_wait(&slot->bell, bell, patience);
    if (host_now_us() - before < patience) continue;
    drop_dead_sometimes();
    patience = std::min(2 * patience, kMostPatience);
  }
}

bool Clock::join(std::uint32_t flags) {
  if (!is_virtual()) return true;
  const int pid = ::getpid(), thread = thread_id();
  const Store::Lock lock(store_);
  if (Slot* slot = find(pid, thread)) return slot->flags = flags, true;
  if (Slot* expected = find(pid, 0)) {
    expected->flags = flags;
    expected->thread = thread;
    return true;
  }
  return take(pid, thread, flags) != nullptr;
}

void Clock::leave() {
  const Store::Lock lock(store_);
  Slot* slot = find(::getpid(), thread_id());
  if (!slot) return;
  free_slot(*slot);
  advance();
}

void Clock::block() {
  const Store::Lock lock(store_);
  Slot* slot = find(::getpid(), thread_id());
  if (!slot) return;
  slot->wake = kForever;
  advance();
}

void Clock::unblock(int thread) {
  const Store::Lock lock(store_);
  if (Slot* slot = find(::getpid(), thread); slot && slot->wake == kForever) slot->wake = 0;
}

bool Clock::expect(int pid) {
  if (!is_virtual()) return owner_of(pid).pid != 0;
  const Store::Lock lock(store_);
  for (const Slot& slot : store_.header().slots)
    if (slot.pid == pid) return true;  // it was faster than its parent
  return take(pid, 0, 0) != nullptr;
}

void Clock::wake(int pid, int thread) {
  const Store::Lock lock(store_);
  for (Slot& slot : store_.header().slots)
    if (slot.pid == pid && (thread == 0 || slot.thread == thread)) slot.woken = 1;
  advance();
}

}  // namespace smartmig::nvsim
