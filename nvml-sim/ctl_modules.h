// /proc/modules on a kernel that has none, because it was built without modules: nothing can be mounted where no file is,
// so the calls that open or stat that path are answered by a process in the background (seccomp user notification), which
// ends with the last process that it answers. Other calls pass; each that names a path takes some microseconds longer.
#pragma once
#include <string>

#include "base/result.h"

namespace smartmig::nvsim {

// For this process and those that it starts. Does nothing where the kernel has the file.
Result<Ok> answer_for_modules(const std::string& directory);

}  // namespace smartmig::nvsim
