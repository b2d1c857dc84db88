// Any bytes as a mig-parted file: a configuration or an error, never a crash; what is read writes back to the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fuzz/target.h"
#include "live/gpu/desired.h"
#include "live/gpu/mig_config.h"
#include "mig/catalog.h"

SMARTMIG_FUZZ_TARGET(mig_parted_yaml) {
  using namespace smartmig;
  const auto file = parse_mig_config("input", {reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  const std::string yaml = to_yaml(*file), json = to_json(*file);
  const auto again = parse_mig_config("written", yaml);
  SMARTMIG_CHECK(again && to_yaml(*again) == yaml, "a configuration does not read back as it was written");
  const auto from_json = parse_mig_config("written as JSON", json);
  SMARTMIG_CHECK(from_json && to_json(*from_json) == json, "a configuration does not read back from JSON");
  GpuBoard board;
  board.model = *Catalog::builtin().find("a100-40gb");
  board.mode = MigMode::kOn;
  board.pci_id = "0x20B010DE";
  for (const MigConfig& config : file->configs)
    if (const auto desired = desired_of(config, {board}))
      for (const Desired& one : desired->gpus) {
        (void)change_for(one, board, {}, false, false);
        (void)difference(one, board, false);
      }
  return 0;
}
