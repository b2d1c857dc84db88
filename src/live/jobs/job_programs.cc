// Where the programs lie that jobs are run by.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "live/jobs/process_runner.h"

namespace smartmig {

namespace fs = std::filesystem;

Result<std::string> find_supervisor() {
  constexpr const char* kName = "smartmig-supervisor";
  if (const char* named = std::getenv("SMARTMIG_SUPERVISOR"); named && *named) {
    if (::access(named, X_OK) == 0) return std::string(named);
    return not_found("SMARTMIG_SUPERVISOR={}: {}", named, std::strerror(errno));
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& at : {here / kName, here / "supervisor" / kName, here / ".." / "libexec" / "smartmig" / kName})
    if (::access(at.c_str(), X_OK) == 0 && fs::is_regular_file(at, error)) return at.lexically_normal().string();
  return not_found(
      "{} is neither next to {} nor in ../libexec/smartmig; install it, or set "
      "SMARTMIG_SUPERVISOR",
      kName, here.string());
}

std::string find_shims() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& at : {here / "shims", here / ".." / "lib" / "smartmig" / "shims"})
    if (::access((at / "srun").c_str(), X_OK) == 0 && at.string().find(':') == std::string::npos)
      return at.lexically_normal().string();
  return {};
}

}  // namespace smartmig
