// A length of time as people read it, the unit always named.
#pragma once
#include <string>

namespace smartmig {

std::string duration_words(double seconds);  // "0.4 s", "45 s", "12 min", "7 h 59 min", "2 d 04 h"; below 0: "0 s"

}  // namespace smartmig
