#include "cli/program/research.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/errors.h"

namespace smartmig::cli {

int become_research(std::string verb, const Arguments& rest) {
  namespace fs = std::filesystem;
  constexpr const char* kName = "smartmig-research";
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& at : {here / kName, here / ".." / "libexec" / "smartmig" / kName}) {
    if (::access(at.c_str(), X_OK) != 0) continue;
    std::vector<char*> words{const_cast<char*>(kName), verb.data()};
    for (const std::string& argument : rest) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(at.c_str(), words.data());
    return failure(io_error("cannot start {}: {}", at.lexically_normal().string(), std::strerror(errno)));
  }
  return failure(
      not_found("smartmig {} needs {}, which is neither in {} nor in ../libexec/smartmig. In a checkout, "
                "./smartmig {} builds it; docs/install.md says how to install it",
                verb, kName, here.string(), verb));
}

}  // namespace smartmig::cli
