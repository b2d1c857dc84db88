#include "policy/planner/room.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace smartmig {
namespace {

constexpr double kFade = 1440;                                              // minutes
constexpr double kOthersShare = 1.0 / 14, kOthersRun = 40, kSeenFor = 120;  // before anything was seen; minutes
constexpr int kFirstOctave = -12;
// (1 - q)^(-1/2) - 1 at q = 1/8, 3/8, 5/8, 7/8: peers to come for each present.
constexpr std::array<double, 4> kMoreForEach = {0.0690449676, 0.2649110641, 0.6329931619, 1.8284271247};

double middle_of(std::size_t octave) { return std::ldexp(1.5, int(octave) + kFirstOctave); }

}  // namespace

std::size_t ArrivalsByLength::octave_of(double minutes) {
  const int octave = minutes > 0 ? std::ilogb(minutes) - kFirstOctave : 0;
  return std::size_t(std::clamp(octave, 0, int(kOctaves) - 1));
}

ArrivalsByLength::Shares ArrivalsByLength::shares_of_longer() const {
  Shares out{};
  double longer = 0, all = 0;
  for (const double count : jobs) all += count;
  for (std::size_t i = kOctaves; i-- > 0; longer += jobs[i]) out[i] = all > 0 ? (longer + jobs[i] / 2) / all : 0.5;
  return out;
}

void ArrivalsByLength::see(Time now) {
  if (until >= Time{0} && now > until) {
    const double passed = minutes(now - until), keep = deterministic_exp(-passed / kFade);
    for (double& count : jobs) count *= keep;
    for (double& sum : slot_minutes) sum *= keep;
    for (std::size_t i = 0; i < kOctaves; ++i)
      if (lately[i] > 0) lately[i] *= deterministic_exp(-passed / middle_of(i));
    observed = observed * keep + kFade * (1 - keep);
  }
  until = std::max(until, now);
}

void ArrivalsByLength::add(Time now, double slot_run, double weight) {
  see(now);
  const std::size_t octave = octave_of(slot_run);
  jobs[octave] += weight;
  slot_minutes[octave] += weight * slot_run;
  lately[octave] += weight;
}

RoomNeeded room_needed(const ArrivalsByLength& seen, double run, double fleet_slots) {
  const double longest = run / kMuchShorter;
  double jobs = 0, slot_minutes = 0;
  const double observed = seen.observed + kSeenFor;
  for (std::size_t i = 0; i < seen.octave_of(longest); ++i) jobs += seen.jobs[i], slot_minutes += seen.slot_minutes[i];
  if (run >= 2 * kOthersRun) {
    slot_minutes += kOthersShare * fleet_slots * kSeenFor;
    jobs += kOthersShare * fleet_slots * kSeenFor / kOthersRun;
  }
  if (jobs <= 0) return {};
  const double slots = slot_minutes / observed;
  return {slots + 2 * std::sqrt(slots), slot_minutes / jobs, jobs / observed * run * run / 2};
}

double peers_present(const ArrivalsByLength& seen, double run) {
  double of_late = -1, usually = 0;  // of_late: beside the one that asks
  for (std::size_t i = seen.octave_of(run / kMuchShorter); i < ArrivalsByLength::kOctaves; ++i) {
    of_late += seen.lately[i];
    usually += seen.jobs[i] * middle_of(i) / (seen.observed + middle_of(i));
  }
  return std::max(of_late, usually);
}

double Peers::most_slots() const {
  double largest = 0;
  for (const PeerSize& size : sizes) largest = std::max(largest, size.slots);
  return present * kMoreForEach.back() * largest;
}

double Peers::minutes(double open_slots) const {
  double sum = 0;
  for (const double for_each : kMoreForEach) {
    const double more = present * for_each;
    double least = 1e300;
    for (const PeerSize& size : sizes) {
      const double rounds = std::max(0.0, more * size.slots / std::max(open_slots, 0.1) - 1) / 2;
      // At the latest the whole fleet is theirs after the run.
      const double later = 1 / size.slower + std::max(0.0, more * size.slots / fleet_slots - 1) / 2;
      least = std::min(least, size.slower * (1 + std::min(rounds, later)));
    }
    sum += more * run * least;
  }
  return sum / double(kMoreForEach.size());
}

}  // namespace smartmig
