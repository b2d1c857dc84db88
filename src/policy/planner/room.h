// Room for the jobs that come while a job runs that cannot be taken back.
//
// A start is charged the minutes that others lose by it, for two kinds of others:
//
// Much shorter jobs: those shorter than an eighth of the run. Each takes a slot, the smallest slice there is. By
// Little's law they fill `slots` = sum of their times on a slot / observed time on average, and slots + 2 sqrt(slots)
// nearly always. If fewer slots stay open, a share of these jobs waits for about half of the run:
//
//   minutes lost = (missing slots / needed slots) * rate * run * run / 2
//
// It grows with the square of the run: the longer the job, the longer the crowd and the longer its wait.
//
// Peers: jobs as long, or longer. By Little's law arrivals that fade over their own length count the peers present, m;
// as long as less than that length was observed, the job itself counts as one. How many more come during the run is not
// known: as many as have come is likely, many more is possible. Four cases of equal weight follow the distribution
// P(more > x) = (m / (m + x))^2. Each peer takes the size that ends them all soonest on the slots that are open halfway
// through the run; where they do not fit at once, they run in rounds.
//
// The arrivals are counted by length; the short ones fade over a day. Before anything was seen the queue is taken to be
// shared: others fill a fourteenth of the fleet's slots with jobs of 40 minutes, as if that had been seen for two
// hours.
#pragma once
#include <array>
#include <span>

#include "base/units.h"

namespace smartmig {

// What was seen; copied where a future goes on with it.
struct ArrivalsByLength {
  static constexpr std::size_t kOctaves = 40;  // of minutes on a slot, from 2^-12 on
  std::array<double, kOctaves> jobs{}, slot_minutes{};
  std::array<double, kOctaves> lately{};  // jobs, fading over their own length
  double observed = 0;                    // minutes
  Time until{-1};

  using Shares = std::array<double, kOctaves>;
  static std::size_t octave_of(double slot_minutes);
  Shares shares_of_longer() const;  // by octave: how many of those who come are longer
  void see(Time now);               // time passes
  // `weight`: the probability of this length, of a job whose time is not known.
  void add(Time now, double slot_minutes, double weight = 1);
};

inline constexpr double kMuchShorter = 8;

// A job whose time is not known takes at most a share of the open slots, so that a burst of such jobs leaves some. Not in
// fleets of few slots.
inline constexpr double kUnknownSpread = 0.5, kManySlots = 28, kShareOfOpen = 1.0 / 5;

struct RoomNeeded {
  double slots = 0;
  double length = 0;   // minutes on a slot of those who need it, in the mean
  double waiting = 0;  // minutes that they would wait if no slot were open
  double minutes_lost(double open_slots) const {
    return slots > open_slots ? waiting * (slots - open_slots) / slots : 0;
  }
};
// For a run of so many minutes on a fleet of so many slots.
RoomNeeded room_needed(const ArrivalsByLength& seen, double run, double fleet_slots);

struct PeerSize {
  double slots = 0, slower = 1;  // slower: its time over that on the fastest size
};
struct Peers {
  double present = 0, run = 0;      // jobs; minutes on the fastest size
  std::span<const PeerSize> sizes;  // that they may take
  double fleet_slots = 0;
  // From their submission to their end, with so many slots open to them.
  double minutes(double open_slots) const;
  double most_slots() const;  // with more, minutes() stays the same
};
double peers_present(const ArrivalsByLength& seen, double run);

}  // namespace smartmig
