// Signals by name: "USR1", "SIGUSR1" or "10". Those a batch job may be sent, on every Linux by the same name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace smartmig {

std::optional<int> signal_number(std::string_view name);  // 1 to 64
std::string signal_name(int number);                      // "USR1"; "41" where there is no name

}  // namespace smartmig
