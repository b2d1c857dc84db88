// What the files nvml_*.cc share beside session.h. Not part of any interface.
#pragma once
#include <string>

#include "session.h"

namespace smartmig::nvsim {

std::string board_uuid(Machine& m, int gpu);    // "GPU-..."
std::string board_serial(Machine& m, int gpu);  // 13 digits
nvmlReturn_t find_uuid(Machine& m, std::string_view uuid, nvmlDevice_t& device);
nvmlReturn_t not_emulated(const char* name);                      // NOT_SUPPORTED, or UNINITIALIZED before nvmlInit
inline constexpr std::string_view kDriverVersion = "580.159.04";  // of the H200 that the emulation was compared with
constexpr unsigned pci_bus(int gpu) { return unsigned(0x07 + 8 * gpu) & 0xFF; }

}  // namespace smartmig::nvsim
