// Users of this machine, by name or number.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace smartmig {

Result<std::uint32_t> uid_of(const std::string& user);  // a name or a number
std::string user_name(std::uint32_t uid);               // the number if the uid has no name

}  // namespace smartmig
