// Folders in which files with known names are written and read by root: who else could write there could put links in
// their place. Such a folder is no link itself, belongs to this user or root, and no other process may write to it.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig {

Result<Ok> make_private_folder(const std::string& path);  // made where there is none; kNoPermission: it is not private
bool anybody_may_write(const std::string& folder);        // as to /tmp

}  // namespace smartmig
