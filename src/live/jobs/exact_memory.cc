#include "live/jobs/exact_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"

namespace smartmig {
namespace fs = std::filesystem;

namespace {

fs::path own_directory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

Result<std::string> find_preload_library() {
  constexpr const char* kName = "libsmartmig-preload.so";
  std::error_code error;
  std::string found;
  const fs::path here = own_directory();
  if (const char* named = std::getenv("SMARTMIG_PRELOAD"); named && *named) {
    if (::access(named, R_OK) != 0) return not_found("SMARTMIG_PRELOAD={}: {}", named, std::strerror(errno));
    found = fs::absolute(named, error).lexically_normal().string();
  } else {
    for (const fs::path& at : {here / "preload" / kName, here / ".." / "lib" / "smartmig" / kName})
      if (found.empty() && ::access(at.c_str(), R_OK) == 0) found = at.lexically_normal().string();
  }
  if (found.empty())
    return not_found(
        "{} is neither in preload/ next to {} nor in ../lib/smartmig; install it, or set "
        "SMARTMIG_PRELOAD",
        kName, here.string());
  if (found.find_first_of(": \t\n") != found.npos)
    return invalid("{}: the path of a preloaded library must not contain blanks or colons; move it", found);
  return found;
}

Result<std::string> find_python_hook() {
  std::error_code error;
  const fs::path here = own_directory();
  std::vector<fs::path> places = {here / "preload", here / ".." / "lib" / "smartmig"};
  if (const char* named = std::getenv("SMARTMIG_PRELOAD"); named && *named)
    places = {fs::absolute(named, error).parent_path()};
  for (const fs::path& place : places) {
    const std::string found = (place / "python").lexically_normal().string();
    if (::access((found + "/sitecustomize.py").c_str(), R_OK) != 0) continue;
    if (found.find(':') != found.npos)
      return invalid("{}: a directory in PYTHONPATH must not contain colons; move it", found);
    return found;
  }
  return not_found("python/sitecustomize.py is not in {}, so tensor memory is unknown", places.back().string());
}

Result<Ok> make_memory_directory(const std::string& path, std::uint32_t uid, std::uint32_t gid) {
  if (!path.starts_with('/')) return invalid("the directory {} for memory reports is not an absolute path", path);
  if (::mkdir(path.c_str(), 0700) != 0)
    return io_error("cannot create the directory {} for memory reports: {}", path, std::strerror(errno));
  if (::lchown(path.c_str(), uid, gid) != 0) {
    const int why = errno;
    ::rmdir(path.c_str());
    return io_error("cannot make user {1} the owner of {0}: {2}", path, uid, std::strerror(why));
  }
  return Ok{};
}

void remove_memory_directory(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string put_first(const std::string& first, std::string_view own) {
  std::string out = first;
  if (own.empty()) return out;
  for (const std::string_view entry : split(own, ':'))  // an empty one is Python's word for the current directory
    if (entry != first) out.append(":").append(entry);
  return out;
}

}  // namespace smartmig
