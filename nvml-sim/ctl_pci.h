// The PCI devices of emulated boards as sysfs shows them: one folder of small files each, among them the first 256 bytes
// of the configuration space and the table of memory regions.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "machine.h"

namespace smartmig::nvsim {

// Name and content of the files in /sys/bus/pci/devices/ADDRESS.
std::vector<std::pair<std::string, std::string>> pci_files(Machine& machine, int gpu);

}  // namespace smartmig::nvsim
