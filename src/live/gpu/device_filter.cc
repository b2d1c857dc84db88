#include "live/gpu/device_filter.h"

#include <charconv>

#include "base/text.h"
#include "live/gpu/driver.h"

namespace smartmig {
namespace {

// "0x20B010DE", "548409566": 32 bits.
std::optional<std::uint32_t> packed_id(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<DeviceFilter> DeviceFilter::parse(std::string_view text) {
  DeviceFilter filter;
  const auto parts = split(text, ':');
  const auto device = packed_id(parts[0]);
  const auto subsystem = parts.size() == 2 ? packed_id(parts[1]) : std::nullopt;
  if (parts.size() > 2 || !device || (parts.size() == 2 && !subsystem))
    return invalid("'device-filter' takes PCI ids such as 0x20B010DE or 0x20B010DE:0x144E10DE, not '{}'", text);
  filter.device = *device;
  filter.subsystem = subsystem;
  return filter;
}

bool DeviceFilter::matches(const GpuBoard& board) const {
  return packed_id(board.pci_id) == device && (!subsystem || packed_id(board.pci_subsystem) == subsystem);
}

}  // namespace smartmig
