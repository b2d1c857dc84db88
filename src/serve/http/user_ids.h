// A user of this machine, by name or number.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace smartmig {

Result<std::uint32_t> uid_of(const std::string& user);

}  // namespace smartmig
