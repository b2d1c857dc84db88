#include "ctl_pci.h"

#include <unistd.h>

#include <cstdint>

#include "base/text.h"
#include "driver_files.h"

namespace smartmig::nvsim {
namespace {

constexpr std::uint64_t kRegisterBytes = 16ull << 20, kThirdBytes = 32ull << 20;
constexpr unsigned kClass3d = 0x030200, kRevision = 0xA1, kConfigBytes = 256;

struct Region {
  std::uint64_t start = 0, bytes = 0, flags = 0;  // flags as in <linux/ioport.h>
};
constexpr std::uint64_t kWord = 0x40200, kTwoWords = 0x14220C;  // memory of one word, and of two, prefetchable

// Registers, the board's memory, and a third. Regions of two words take two of the six places; on Ampere the registers
// take one. Addresses that no other board has.
std::vector<Region> regions_of(const Board& board, int gpu) {
  std::uint64_t memory = 1ull << 20;
  while (memory < std::uint64_t(board.memory_mib()) << 20) memory *= 2;
  const auto number = std::uint64_t(gpu);
  const std::uint64_t high = (1ull << 45) + number * (1ull << 40);
  const Region second{high, memory, kTwoWords}, third{high + memory, kThirdBytes, kTwoWords};
  if (board.ampere()) return {{0xC0000000 + number * kRegisterBytes, kRegisterBytes, kWord}, second, {}, third, {}, {}};
  return {{high + memory + kThirdBytes, kRegisterBytes, kTwoWords}, {}, second, {}, third, {}};
}

std::string resource_text(const std::vector<Region>& regions) {
  constexpr std::size_t kLines = 13;  // six regions, the expansion ROM, those of virtual functions
  std::string out;
  for (std::size_t i = 0; i < kLines; ++i) {
    const Region region = i < regions.size() ? regions[i] : Region{};
    const std::uint64_t end = region.bytes > 0 ? region.start + region.bytes - 1 : 0;
    out += fmt::format("{:#018x} {:#018x} {:#018x}\n", region.start, end, region.flags);
  }
  return out;
}

void put_bytes(std::string& config, std::size_t at, unsigned bytes, std::uint64_t value) {
  for (unsigned i = 0; i < bytes; ++i) config[at + i] = char(value >> 8 * i & 0xFF);
}

std::string config_bytes(const Board& board, const std::vector<Region>& regions) {
  std::string config(kConfigBytes, '\0');
  const unsigned id = board.pci_id(), subsystem = board.pci_subsystem_id();
  put_bytes(config, 0x00, 2, id & 0xFFFF);
  put_bytes(config, 0x02, 2, id >> 16);
  put_bytes(config, 0x04, 2, 0x0006);  // answers to memory, masters the bus
  put_bytes(config, 0x08, 1, kRevision);
  put_bytes(config, 0x09, 3, kClass3d);
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].bytes > 0)  // 0xC: of 64 bits, prefetchable
      put_bytes(config, 0x10 + 4 * i, regions[i].flags == kWord ? 4 : 8,
                regions[i].start | (regions[i].flags == kWord ? 0 : 0xC));
  put_bytes(config, 0x2C, 2, subsystem & 0xFFFF);
  put_bytes(config, 0x2E, 2, subsystem >> 16);
  return config;
}

// The lowest `bits` bits in groups of eight digits: "00000003,ffffffff".
std::string mask_text(long bits) {
  std::string out;
  for (; bits > 0; bits -= 32)
    out = fmt::format("{:08x}", bits >= 32 ? 0xFFFFFFFFu : (1u << bits) - 1) + (out.empty() ? "" : "," + out);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> pci_files(Machine& m, int gpu) {
  const Board& board = m.board(gpu);
  const unsigned device = board.pci_id() >> 16, vendor = board.pci_id() & 0xFFFF;
  const unsigned subsystem = board.pci_subsystem_id() >> 16, maker = board.pci_subsystem_id() & 0xFFFF;
  const std::string modalias =
      fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc03sc02i00", vendor, device, maker, subsystem);
  const std::string speed = board.ampere() ? "16.0 GT/s PCIe\n" : "32.0 GT/s PCIe\n";
  const auto regions = regions_of(board, gpu);
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  return {{"vendor", fmt::format("{:#06x}\n", vendor)},
          {"device", fmt::format("{:#06x}\n", device)},
          {"subsystem_vendor", fmt::format("{:#06x}\n", maker)},
          {"subsystem_device", fmt::format("{:#06x}\n", subsystem)},
          {"class", fmt::format("{:#08x}\n", kClass3d)},
          {"revision", fmt::format("{:#04x}\n", kRevision)},
          {"numa_node", "0\n"},
          {"local_cpus", mask_text(cpus) + "\n"},
          {"local_cpulist", cpus > 1 ? fmt::format("0-{}\n", cpus - 1) : "0\n"},
          {"irq", "0\n"},
          {"enable", "1\n"},
          {"current_link_speed", speed},
          {"max_link_speed", speed},
          {"current_link_width", "16\n"},
          {"max_link_width", "16\n"},
          {"modalias", modalias + "\n"},
          {"uevent", fmt::format("DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                                 "PCI_SLOT_NAME={}\nMODALIAS={}\n",
                                 vendor, device, maker, subsystem, pci_address(gpu), modalias)},
          {"resource", resource_text(regions)},
          {"config", config_bytes(board, regions)}};
}

}  // namespace smartmig::nvsim
