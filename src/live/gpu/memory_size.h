// Amounts of memory as people write them: "18G", "512M", "1.5T", "20480" (MiB), with or without B or iB behind the
// unit.
#pragma once
#include <optional>
#include <string_view>

namespace smartmig {

inline constexpr int kMaxMemoryMib = 64 << 20;  // 64 TiB: more than any machine has

std::optional<int> parse_mib(std::string_view text);  // rounded up; nothing: not an amount, or above kMaxMemoryMib

}  // namespace smartmig
