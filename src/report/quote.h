// Makes text safe for the formats of this folder; for JSON see base/json.h. Bytes that are not UTF-8 (in names from
// users' files) are written as \xNN, so every output is valid UTF-8.
#pragma once
#include <string>
#include <string_view>

#include "base/units.h"

namespace smartmig {

std::string csv_quote(std::string_view text);  // quotes only if needed; line breaks become spaces
std::string html_escape(std::string_view text);

std::string seconds_text(Time t);  // exact decimal seconds: "1.5"

}  // namespace smartmig
