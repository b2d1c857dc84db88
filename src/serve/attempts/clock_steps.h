// The daemon's reaction to a step of the host's time of day. It immediately moves all past instants (starts of jobs,
// samples, the origin of the belief) and every timer by the same amount, so that durations do not change. Instants that
// people gave as a time of day stay: --begin, --deadline, reservations. Live, the daemon hears of a step from its clock
// (LiveClock::take_step, Daemon::follow_clock); for the time that it was down, the store keeps what the clocks of this
// boot said (here).
#pragma once
#include "live/jobs/runner.h"
#include "live/live_clock.h"

namespace smartmig {

// One line for the store: boot, steady time, time of day. Empty where the clock has no boot.
std::string clock_reading(const LiveClock& clock);
// By how much the time of day was set since that reading. In another boot only a time of day that went back shows.
Time step_since(const std::string& reading, const LiveClock& clock);

// In words, for the journal.
std::string step_words(Time by, bool while_down);

// The instants of an exit by this daemon's clock: from the steady time of its end where that is known, and never in the
// future. `started`: as the queue has it; moved where an earlier boot measured another duration. Idempotent.
void place_exit(AttemptExit& exit, UnixTime& started, bool began_ahead, const LiveClock& clock);

}  // namespace smartmig
