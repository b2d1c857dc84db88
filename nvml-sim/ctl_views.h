// What a program finds on a machine with the emulated boards: /proc/driver/nvidia and nvidia-caps, /proc/modules and
// /proc/devices with the driver's lines, the boards among the PCI devices of sysfs, the nodes of /dev. Real NVIDIA boards
// of the host are not among them.
#pragma once
#include <string>
#include <vector>

#include "machine.h"

namespace smartmig::nvsim {

// REQUIRES: enter_mount_namespace(), make_driver_files(). Gives what could not be shown, a sentence each.
std::vector<std::string> show_boards(Machine& machine);

// The lines of /proc/modules with the driver's in place of any other NVIDIA driver's.
std::string modules_with_driver(const std::string& modules);

}  // namespace smartmig::nvsim
