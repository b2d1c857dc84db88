// Text handling that all readers share: strict number parsing (the whole string or nothing), splitting, and durations
// such as "90s", "20m", "2h".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace smartmig {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty pieces
std::string lower(std::string_view text);

std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // finite numbers only
std::optional<Time> parse_duration(std::string_view text);  // "30" (seconds), "1.5h", "20m", "90s", "2d"

// For "did you mean": the candidate nearest to `text`, or empty if none is near.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0);  // never changes: file formats depend on it

}  // namespace smartmig
