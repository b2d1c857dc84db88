// One GPU as the daemon knows it: what it last showed, and whether it takes work. See boards.h for who changes it.
#pragma once
#include <map>
#include <optional>

#include "live/energy/energy_meter.h"
#include "live/gpu/driver.h"

namespace smartmig {

enum class GpuTrouble : std::uint8_t {
  kNone,
  kQuarantined,  // it answers, and is not to be used until a person has looked at it
  kLost          // it does not answer
};

// Creations or destructions of slices that failed one after another.
struct Failing {
  int times = 0;
  std::string what, error;  // the last one: "creating 3g.20gb@4", and why
  UnixTime next_try{};
};

struct BoardState {
  GpuBoard board;
  double watts = 0;
  int dead_mib = 0;                                  // held by processes that do not exist
  std::map<std::uint32_t, std::string> quarantined;  // slices (by placement) out of service, and why
  GpuTrouble trouble = GpuTrouble::kNone;
  std::string words;     // of the trouble
  bool drained = false;  // by the operator
  bool lent = false;     // drained and empty: another controller may take it
  Failing failing;
  std::string reread;                    // why it takes no work until its slices are reread; empty: it does
  std::vector<DeviceProcess> processes;  // as last listed
  std::optional<Error> unlisted;         // why they could not be listed then
  UnixTime listed = kNotYet;             // when that was asked for
  std::uint64_t looks = 0, looked = 0;   // asked for; answered
  UnixTime sampled = kNotYet;
  EnergySource source = EnergySource::kModel;  // of the last interval
  bool in_trouble() const { return trouble != GpuTrouble::kNone; }
  bool in_service() const { return !in_trouble() && !drained; }
};

inline const char* service_name(const BoardState& state) {
  switch (state.trouble) {
    case GpuTrouble::kLost:
      return "lost";
    case GpuTrouble::kQuarantined:
      return "quarantined";
    case GpuTrouble::kNone:
      break;
  }
  return state.drained ? "drained" : "ok";
}

}  // namespace smartmig
