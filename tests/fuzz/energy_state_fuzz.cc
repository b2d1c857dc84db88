// States of the energy meter: never crashes, and what is accepted is written and read again alike, and goes on
// metering.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.h"
#include "live/energy/energy_meter.h"

SMARTMIG_FUZZ_TARGET(energy_state) {
  using namespace smartmig;
  EnergyMeter meter;
  if (!meter.restore({reinterpret_cast<const char*>(data), size})) return 0;
  EnergyMeter again;
  const auto result = again.restore(meter.state());
  SMARTMIG_CHECK(bool(result), "{}", result.error().what);
  SMARTMIG_CHECK(again.state() == meter.state(), "written differently");
  for (const auto& [uuid, board] : meter.boards())
    again.board(uuid, {50, 1000, Time(60'000'000)}).sample({from_unix_us(200'000'000'000'000'000), 1e6, 100.0, 100});
  return 0;
}
