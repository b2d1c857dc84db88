// Makes one user's text safe to print on another user's terminal.
#pragma once
#include <string>
#include <string_view>

namespace smartmig {

// Replaces by '?': control characters, invisible characters, those that change the direction of writing, and bytes that
// are not UTF-8.
std::string printable(std::string_view text);
std::string printable_lines(std::string_view text);  // the same, but keeps line breaks

}  // namespace smartmig
