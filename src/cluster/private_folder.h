// Directories in which root reads and writes files with known names. Another user with write access could replace them
// by links. So such a directory must not be a link, must belong to this user or root, and must not be writable by
// others.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig {

Result<Ok> make_private_folder(const std::string& path);  // made where there is none; kNoPermission: it is not private
bool anybody_may_write(const std::string& folder);        // as to /tmp

}  // namespace smartmig
