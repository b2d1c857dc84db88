// mig-parted's device-filter: "0x20B010DE" is a PCI device and its vendor, packed as NVML tells them;
// "0x20B010DE:0x144E10DE" names the subsystem too. Without a subsystem any fits.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace smartmig {

struct GpuBoard;

struct DeviceFilter {
  std::uint32_t device = 0;
  std::optional<std::uint32_t> subsystem;

  static Result<DeviceFilter> parse(std::string_view text);
  bool matches(const GpuBoard& board) const;
};

}  // namespace smartmig
