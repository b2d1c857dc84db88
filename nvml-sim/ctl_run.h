// nvml-sim-ctl run: a program on the emulated machine, which finds the library, and what the kernel shows of the boards
// (ctl_views.h), at their usual places.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "store.h"

namespace smartmig::nvsim {

// Becomes the program; what it gives is why it could not. REQUIRES: one thread, no machine attached.
Error run_on_machine(const std::string& directory, const std::vector<std::string>& program);
// On a machine that is there for this program alone. Gives the program's exit code; 128 and the signal that ended it.
Result<int> run_on_new_machine(const MachineSpec& spec, const std::vector<std::string>& program);

}  // namespace smartmig::nvsim
