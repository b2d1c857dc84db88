// What the kernel's driver shows below /proc/driver/nvidia, as files of the machine: DIR/proc/driver/nvidia/version,
// params, gpus/ADDRESS/information, and capabilities/ with a file for each instance that is there. They are made for
// `nvml-sim-ctl run`, which shows them to a program at their place; from then on the capabilities follow every instance
// that is created or destroyed, by whatever process. Their form is that of driver 580.159.04 with a real H200.
// Thread rule: as Machine.
#pragma once
#include <string>

#include "machine.h"

namespace smartmig::nvsim {

std::string pci_address(int gpu);  // "0000:07:00.0", as sysfs and procfs spell it

Result<Ok> make_driver_files(Machine& machine);
// Makes a board's files those of its instances; does nothing on a machine without such files.
void show_capabilities(Machine& machine, int gpu);

}  // namespace smartmig::nvsim
