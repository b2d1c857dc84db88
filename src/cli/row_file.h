// Adds rows to a site's table file. New rows replace rows with the same key, and all other rows stay. The file is
// replaced as a whole.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace smartmig::cli {

Result<Ok> put_rows(const std::string& path, const std::string& rows, const std::vector<std::string>& keys);

}  // namespace smartmig::cli
