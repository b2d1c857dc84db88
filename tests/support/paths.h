// Where this checkout and its libraries lie. Functions, not macros of the compiler's command line: objects of two checkouts
// are then equal and share a compiler cache.
#pragma once
#include <string>

namespace smartmig {

std::string source_dir();
std::string env_library();  // empty where it is not built

}  // namespace smartmig
