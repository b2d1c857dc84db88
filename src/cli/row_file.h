// A site's table file that grows: new rows take the place of those with the same key, all else stays. Replaced whole.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

Result<Ok> put_rows(const std::string& path, const std::string& rows, const std::vector<std::string>& keys);

}  // namespace smartmig::cli
