// A machine as text or JSON: boards, instances, processes, holders, faults, clock.
#pragma once
#include <string>

#include "machine.h"

namespace smartmig::nvsim {

std::string show_text(Machine& machine);
std::string show_json(Machine& machine);
const char* fault_name(std::uint32_t kind);        // "in-use-lag"; nullptr if there is none
std::uint32_t fault_named(std::string_view name);  // 0 if there is none

}  // namespace smartmig::nvsim
