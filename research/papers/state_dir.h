// A directory for the state of an experiment's daemon: in memory if possible, removed with the object.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace smartmig {

struct StateDir {
  std::string path;
  static Result<StateDir> make() {
    std::error_code failed;
    const std::filesystem::path root =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path(failed);
    std::string pattern = (root / "smartmig-batch-XXXXXX").string();
    if (failed || !::mkdtemp(pattern.data())) return io_error("cannot make a directory {}", pattern);
    return StateDir{pattern};
  }
  explicit StateDir(std::string p) : path(std::move(p)) {}
  StateDir(StateDir&& other) noexcept : path(std::exchange(other.path, {})) {}
  StateDir& operator=(StateDir&&) = delete;
  ~StateDir() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace smartmig
