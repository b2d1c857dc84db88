// Default names and paths that the parts of the Slurm integration share.
#pragma once
#include <string>
#include <string_view>

namespace smartmig {

inline constexpr int kAgentPort = 6821, kNewsPort = 6822;
inline constexpr const char* kAgentState = "/var/lib/smartmig/agent";  // deploy/slurm/*.sh have it too
inline constexpr const char* kControllerState = "/var/lib/smartmig/slurm";

std::string short_host_name();  // as slurmd calls a node by default
bool is_slurm_name(
    std::string_view text);  // of a node or partition: letters, digits, '-', '_' and '.'; not "." or ".."

}  // namespace smartmig
