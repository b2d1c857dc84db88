// Room for those who come while a job runs that cannot be taken back.
//
// While a job runs for r minutes, jobs come that are much shorter: shorter than r / kMuchShorter. Each takes a slot, the
// smallest slice there is. By Little's law they fill `slots` = sum of their times on a slot / observed time on average, and
// slots + 2 sqrt(slots) nearly always. A start that leaves fewer slots open, counting those that are free or become free
// within r / kMuchShorter, makes a share of them wait for about half of r:
//
//   minutes of others = (missing slots / needed slots) * rate * r * r / 2
//
// It grows with the square of r: the longer the job, the longer the crowd and the longer its wait. The planner adds it to
// a job's cost, so that long jobs take smaller slices, or stay off the last GPUs.
//
// The arrivals are counted by length and fade over a day. Before anything was seen the queue is taken to be shared: as if
// one job of kOthersRun minutes had come in kOthersEvery.
#pragma once
#include <array>

#include "base/units.h"

namespace smartmig {

// What was seen; copied where a future goes on with it.
struct ArrivalsByLength {
  static constexpr std::size_t kOctaves = 40;  // of minutes, from 2^-12 on
  std::array<double, kOctaves> jobs{}, slot_minutes{};
  double observed = 0;  // minutes
  Time until{-1};

  void see(Time now);  // time passes
  void add(Time now, double slot_minutes);
};

struct RoomNeeded {
  double slots = 0;
  double waiting = 0;  // minutes that others would wait if no slot were open
  double minutes_lost(double open_slots) const {
    return slots > open_slots ? waiting * (slots - open_slots) / slots : 0;
  }
};

inline constexpr double kMuchShorter = 8;

RoomNeeded room_needed(const ArrivalsByLength& seen, double run);  // for a run of so many minutes

}  // namespace smartmig
