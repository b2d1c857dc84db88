// Text of one user on the terminal of another.
#pragma once
#include <string>
#include <string_view>

namespace smartmig {

// Control characters, those that turn the direction of writing or cannot be seen, and bytes that are not UTF-8 become '?'.
std::string printable(std::string_view text);
std::string printable_lines(std::string_view text);  // the same, but lines stay lines

}  // namespace smartmig
