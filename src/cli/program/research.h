// Starts smartmig-research, the separate program for the verbs of studies. It needs Cbc; smartmig does not.
#pragma once
#include "cli/verbs.h"

namespace smartmig::cli {

// Becomes smartmig-research, found beside this program or in ../libexec/smartmig. Returns only
// if that fails.
int become_research(std::string verb, const Arguments& rest);

}  // namespace smartmig::cli
