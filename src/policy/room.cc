#include "policy/room.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kFade = 1440, kOthersEvery = 10, kOthersRun = 10;  // minutes
constexpr int kFirstOctave = -12;

std::size_t octave_of(double minutes) {
  const int octave = minutes > 0 ? std::ilogb(minutes) - kFirstOctave : 0;
  return std::size_t(std::clamp(octave, 0, int(ArrivalsByLength::kOctaves) - 1));
}

}  // namespace

void ArrivalsByLength::see(Time now) {
  if (until >= Time{0} && now > until) {
    const double passed = minutes(now - until), keep = deterministic_exp(-passed / kFade);
    for (double& count : jobs) count *= keep;
    for (double& sum : slot_minutes) sum *= keep;
    observed = observed * keep + kFade * (1 - keep);
  }
  until = std::max(until, now);
}

void ArrivalsByLength::add(Time now, double slot_run) {
  see(now);
  const std::size_t octave = octave_of(slot_run);
  jobs[octave] += 1;
  slot_minutes[octave] += slot_run;
}

RoomNeeded room_needed(const ArrivalsByLength& seen, double run) {
  const double longest = run / kMuchShorter;
  double jobs = 0, slot_minutes = 0, observed = seen.observed;
  for (std::size_t i = 0; i < octave_of(longest); ++i) jobs += seen.jobs[i], slot_minutes += seen.slot_minutes[i];
  if (longest >= kOthersRun) {
    jobs += 1;
    slot_minutes += kOthersRun;
    observed += kOthersEvery;
  }
  if (jobs == 0 || observed <= 0) return {};
  const double slots = slot_minutes / observed;
  return {slots + 2 * std::sqrt(slots), jobs / observed * run * run / 2};
}

}  // namespace smartmig
