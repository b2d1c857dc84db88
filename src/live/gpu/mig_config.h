// mig-parted's configuration files (YAML or JSON, version v1), read strictly: an unknown key, a key given twice or a
// value of another kind is an error with its line. One key is ours: `mig-placements`, a list such as ["3g.20gb@4"],
// says where instances stand, which mig-parted's counts cannot. Files made here without it are read by mig-parted as
// they are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "live/gpu/driver.h"

namespace smartmig {

// mig-parted's device-filter: "0x20B010DE" is a PCI device and its vendor, packed as NVML tells them;
// "0x20B010DE:0x144E10DE" names the subsystem too. Without a subsystem any fits.
struct GpuBoard;

struct DeviceFilter {
  std::uint32_t device = 0;
  std::optional<std::uint32_t> subsystem;

  static Result<DeviceFilter> parse(std::string_view text);
  bool matches(const GpuBoard& board) const;
};

struct MigConfigEntry {
  std::vector<std::string> filter;  // packed PCI ids, "0x20B010DE"; empty: any GPU
  bool all_devices = true;
  std::vector<int> devices;  // indices, where not all
  bool mig_enabled = false;
  std::vector<std::pair<std::string, int>> mig_devices;  // profile and count, in the order of the file
  std::vector<std::string> placements;                   // "3g.20gb@4"
  int line = 0;                                          // where it stands, from 1; 0: made here
};

struct MigConfig {
  std::string label;
  std::vector<MigConfigEntry> entries;
};

struct MigConfigFile {
  std::vector<MigConfig> configs;
  const MigConfig* find(std::string_view label) const;
};

Result<MigConfigFile> parse_mig_config(const std::string& name, std::string_view text);
Result<MigConfigFile> read_mig_config(const std::string& path);  // "-" is standard input
std::string to_yaml(const MigConfigFile& file);
std::string to_json(const MigConfigFile& file);

// Configurations made from a machine: its present partition, and the usual ones of its models.
// The present partition: boards that are alike share an entry. GPU instances that are divided count by their compute
// instances ("1c.3g.20gb"). `placements` also says where each GPU instance stands.
MigConfig exported(const std::vector<GpuBoard>& boards, std::string label, bool placements);
// all-disabled, all-enabled, all-PROFILE and all-balanced for the models present.
MigConfigFile generated(const std::vector<GpuBoard>& boards);

}  // namespace smartmig
